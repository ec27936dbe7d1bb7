// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-dev/fairlead/federate/author"
	"github.com/fairlead-dev/fairlead/federate/render"
)

func write(out io.Writer, format string, previews []*preview) error {
	var text bytes.Buffer
	var err error
	switch format {
	case "json":
		err = writeJSON(&text, previews)
	case "name":
		writeNames(&text, previews)
	default:
		err = writeYAML(&text, previews)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text.Bytes())
	return err
}

// writeYAML writes each rendering once, below a comment that lists the members which get it.
func writeYAML(out *bytes.Buffer, previews []*preview) error {
	for _, p := range previews {
		for _, g := range p.groups {
			if out.Len() > 0 {
				out.WriteString("---\n")
			}
			fmt.Fprintf(out, "# %s\n", TitleOf(p.wrapper))
			for _, m := range g.members {
				fmt.Fprintf(out, "# cluster %s: rendering %s%s\n", m.Name, g.rendering.Digest, unplaced(m))
			}
			out.WriteString("# Marks, on each object below:\n")
			for _, mark := range p.marks() {
				fmt.Fprintf(out, "#   %s %s: %s\n", mark.where, mark.key, mark.value)
			}
			if err := writeObjects(out, g.rendering); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeObjects(out *bytes.Buffer, rendering *render.Rendering) error {
	for i := range rendering.Objects {
		object := &rendering.Objects[i]
		content, err := object.Unstructured()
		if err != nil {
			return err
		}
		text, err := author.ObjectYAML(content.Object)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", object, err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		fmt.Fprintf(out, "# rendering of %s: %s\n%s", object, object.Digest, text)
	}
	return nil
}

func unplaced(m chosen) string {
	if m.placed {
		return ""
	}
	return " (spec.placement does not select this cluster: nothing is pushed there; these are the objects that it would get)"
}

type jsonObject struct {
	Rendering string          `json:"rendering"`
	Object    json.RawMessage `json:"object"`
}

type jsonCluster struct {
	Wrapper   string       `json:"wrapper"`
	Cluster   string       `json:"cluster"`
	Placed    bool         `json:"placed"`
	Rendering string       `json:"rendering"`
	Objects   []jsonObject `json:"objects"`
}

// writeJSON writes a list with one entry for each wrapper and member. Members with equal renderings get an entry each: a program can
// group them itself.
func writeJSON(out *bytes.Buffer, previews []*preview) error {
	list := []jsonCluster{}
	for _, p := range previews {
		for _, g := range p.groups {
			objects := make([]jsonObject, 0, len(g.rendering.Objects))
			for i := range g.rendering.Objects {
				objects = append(objects, jsonObject{Rendering: g.rendering.Objects[i].Digest, Object: g.rendering.Objects[i].JSON})
			}
			for _, m := range g.members {
				list = append(list, jsonCluster{
					Wrapper: TitleOf(p.wrapper), Cluster: m.Name, Placed: m.placed, Rendering: g.rendering.Digest, Objects: objects,
				})
			}
		}
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "    ")
	return encoder.Encode(list)
}

// writeNames writes a line MEMBER/KIND.GROUP/NAME for each object of each member.
func writeNames(out *bytes.Buffer, previews []*preview) {
	for _, p := range previews {
		for _, g := range p.groups {
			for _, m := range g.members {
				for i := range g.rendering.Objects {
					object := &g.rendering.Objects[i]
					fmt.Fprintf(out, "%s/%s/%s\n", m.Name, strings.ToLower(object.GVK.GroupKind().String()), object.Name)
				}
			}
		}
	}
}
