// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
)

// Channel is the channel of package demo-operator that every version is in.
const Channel = "stable"

// The file-based format, as far as this catalog uses it: a stream of JSON documents told apart by their schema.
type (
	packageEntry struct {
		Schema         string `json:"schema"`
		Name           string `json:"name"`
		DefaultChannel string `json:"defaultChannel"`
		Description    string `json:"description"`
	}
	channelEntry struct {
		Schema  string    `json:"schema"`
		Package string    `json:"package"`
		Name    string    `json:"name"`
		Entries []upgrade `json:"entries"`
	}
	upgrade struct {
		Name     string `json:"name"`
		Replaces string `json:"replaces,omitempty"`
	}
	bundleEntry struct {
		Schema     string     `json:"schema"`
		Package    string     `json:"package"`
		Name       string     `json:"name"`
		Properties []property `json:"properties"`
	}
	property struct {
		Type  string `json:"type"`
		Value any    `json:"value"`
	}
)

// csvName is the name of a version's ClusterServiceVersion and of its bundle.
func csvName(version string) string { return demooperator.Name + "." + version }

// renderCatalog writes the catalog with these versions, each replacing the one before it.
func renderCatalog(versions []string) ([]byte, error) {
	channel := channelEntry{Schema: "olm.channel", Package: demooperator.Name, Name: Channel}
	documents := []any{packageEntry{
		Schema: "olm.package", Name: demooperator.Name, DefaultChannel: Channel, Description: description,
	}}
	var bundles []any
	replaces := ""
	for _, version := range versions {
		bundle, err := newBundle(version, replaces)
		if err != nil {
			return nil, fmt.Errorf("rendering bundle %s: %w", csvName(version), err)
		}
		bundles = append(bundles, bundle)
		channel.Entries = append(channel.Entries, upgrade{Name: csvName(version), Replaces: replaces})
		replaces = csvName(version)
	}
	documents = append(append(documents, channel), bundles...)

	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	for _, document := range documents {
		if err := encoder.Encode(document); err != nil {
			return nil, fmt.Errorf("rendering the catalog: %w", err)
		}
	}
	return out.Bytes(), nil
}

// newBundle makes an inline bundle. It uses olm.bundle.object and not olm.csv.metadata: OLM installs from the first,
// and refuses the second in a bundle without an image.
func newBundle(version, replaces string) (bundleEntry, error) {
	bundle := bundleEntry{
		Schema: "olm.bundle", Package: demooperator.Name, Name: csvName(version),
		Properties: []property{
			{Type: "olm.package", Value: map[string]string{"packageName": demooperator.Name, "version": strings.TrimPrefix(version, "v")}},
			{Type: "olm.gvk", Value: map[string]string{
				"group": demooperator.GroupVersion.Group, "version": demooperator.GroupVersion.Version, "kind": demooperator.Kind,
			}},
		},
	}
	csv, err := newCSV(version, replaces)
	if err != nil {
		return bundleEntry{}, err
	}
	crd, err := stated(demooperator.CRD())
	if err != nil {
		return bundleEntry{}, err
	}
	for _, manifest := range []any{csv, crd} {
		data, err := json.Marshal(manifest)
		if err != nil {
			return bundleEntry{}, fmt.Errorf("writing a manifest: %w", err)
		}
		bundle.Properties = append(bundle.Properties, property{Type: "olm.bundle.object", Value: map[string][]byte{"data": data}})
	}
	return bundle, nil
}

// publishedIn returns the versions in a catalog, oldest first.
func publishedIn(content []byte) ([]string, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	for {
		var entry channelEntry
		err := decoder.Decode(&entry)
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("it has no channel %s", Channel)
		case err != nil:
			return nil, err
		case entry.Schema != "olm.channel" || entry.Name != Channel:
			continue
		}
		var versions []string
		for _, e := range entry.Entries {
			versions = append(versions, strings.TrimPrefix(e.Name, demooperator.Name+"."))
		}
		return versions, nil
	}
}

func (c Cluster) catalogFile() string {
	return filepath.Join(c.catalogDir(), demooperator.Name+".json")
}

// writeCatalog replaces the catalog's file in one step, so that the server never reads an incomplete one. The temporary file is beside
// the catalog's folder, because the server serves every file in the folder.
func (c Cluster) writeCatalog(versions []string) error {
	content, err := renderCatalog(versions)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.catalogDir(), 0o755); err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	temporary := filepath.Join(c.home(), ".catalog.new")
	if err := os.WriteFile(temporary, content, 0o644); err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	if err := os.Rename(temporary, c.catalogFile()); err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	return nil
}
