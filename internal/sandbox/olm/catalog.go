// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
)

// Channel is the default channel of every package. A bundle is in it, unless the bundle names other channels.
const Channel = "stable"

// These types are OLM's file-based catalog format, as far as this package needs it: a stream of JSON documents, whose schema tells their type.
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
		Name      string   `json:"name"`
		Replaces  string   `json:"replaces,omitempty"`
		Skips     []string `json:"skips,omitempty"`
		SkipRange string   `json:"skipRange,omitempty"`
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

// csvName returns the name of the demo operator's bundle of a version, which is also the name of its ClusterServiceVersion.
func csvName(version string) string { return Bundle{Version: version}.csvName(version) }

// Bundle is a version of an operator in a catalog.
type Bundle struct {
	Version string
	// Package is the operator; "" means the demo operator. Any other operator has a Deployment and no kind of its own. All bundles of a
	// catalog have the same.
	Package string
	// Channels are the channels that have the bundle; nil means Channel alone.
	Channels []string
	// Replaces is the version that OLM upgrades to this one; "" means the version of the bundle before it in the channel.
	Replaces string
	// Skips are versions that OLM upgrades to this one, too. It never installs them.
	Skips []string
	// SkipRange is a range of versions, for example ">=1.0.0 <1.2.0", that OLM upgrades to this one directly.
	SkipRange string
	// MinKubeVersion is the oldest Kubernetes version on which OLM installs the bundle. "" stands for a version that every
	// sandbox satisfies.
	MinKubeVersion string
	// Crashes makes the operator's pods crash, simulated or not, so that its Deployment never becomes available.
	Crashes bool
	// Refused adds a Service that every API server refuses, so that the InstallPlan of the bundle fails.
	Refused bool
}

// isDemo reports whether the bundle is one of the demo operator.
func (b Bundle) isDemo() bool { return b.Package == "" }

// operator returns the name of the bundle's operator, which is also the name of its package.
func (b Bundle) operator() string { return cmp.Or(b.Package, demooperator.Name) }

// csvName returns the name of a version's bundle, of the operator of this bundle.
func (b Bundle) csvName(version string) string { return b.operator() + "." + version }

// renderCatalog returns a catalog with these bundles, at least one. In its channels, each bundle replaces the one before it, unless it
// says what it replaces.
func renderCatalog(bundles []Bundle) ([]byte, error) {
	operator := bundles[0].operator()
	var channels []*channelEntry
	var entries []any
	for _, bundle := range bundles {
		step := upgrade{Name: bundle.csvName(bundle.Version), SkipRange: bundle.SkipRange}
		for _, version := range bundle.Skips {
			step.Skips = append(step.Skips, bundle.csvName(version))
		}
		names := bundle.Channels
		if names == nil {
			names = []string{Channel}
		}
		for _, name := range names {
			at := slices.IndexFunc(channels, func(c *channelEntry) bool { return c.Name == name })
			if at < 0 {
				at, channels = len(channels), append(channels, &channelEntry{Schema: "olm.channel", Package: operator, Name: name})
			}
			channel := channels[at]
			switch {
			case bundle.Replaces != "":
				step.Replaces = bundle.csvName(bundle.Replaces)
			case len(channel.Entries) > 0:
				step.Replaces = channel.Entries[len(channel.Entries)-1].Name
			default:
				step.Replaces = ""
			}
			channel.Entries = append(channel.Entries, step)
		}
		entry, err := newBundle(bundle, step.Replaces)
		if err != nil {
			return nil, fmt.Errorf("rendering bundle %s: %w", step.Name, err)
		}
		entries = append(entries, entry)
	}
	documents := []any{packageEntry{Schema: "olm.package", Name: operator, DefaultChannel: Channel, Description: description}}
	for _, channel := range channels {
		documents = append(documents, channel)
	}
	documents = append(documents, entries...)

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

// newBundle returns the catalog's entry for a bundle. Its manifests are properties of type olm.bundle.object, from which OLM installs them. The usual type
// olm.csv.metadata does not work: OLM refuses it in a bundle without an image.
func newBundle(of Bundle, replaces string) (bundleEntry, error) {
	bundle := bundleEntry{
		Schema: "olm.bundle", Package: of.operator(), Name: of.csvName(of.Version),
		Properties: []property{
			{Type: "olm.package", Value: map[string]string{"packageName": of.operator(), "version": strings.TrimPrefix(of.Version, "v")}},
		},
	}
	csv, err := newCSV(of, replaces)
	if err != nil {
		return bundleEntry{}, err
	}
	manifests := []any{csv}
	if of.isDemo() {
		crd, err := stated(demooperator.CRD())
		if err != nil {
			return bundleEntry{}, err
		}
		manifests = append(manifests, crd)
		bundle.Properties = append(bundle.Properties, property{Type: "olm.gvk", Value: map[string]string{
			"group": demooperator.GroupVersion.Group, "version": demooperator.GroupVersion.Version, "kind": demooperator.Kind,
		}})
	}
	if of.Refused {
		manifests = append(manifests, &corev1.Service{
			TypeMeta:   typeMeta("v1", "Service"),
			ObjectMeta: metav1.ObjectMeta{Name: of.operator()},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: -1}}},
		})
	}
	for _, manifest := range manifests {
		data, err := json.Marshal(manifest)
		if err != nil {
			return bundleEntry{}, fmt.Errorf("writing a manifest: %w", err)
		}
		bundle.Properties = append(bundle.Properties, property{Type: "olm.bundle.object", Value: map[string][]byte{"data": data}})
	}
	return bundle, nil
}

// publishedIn returns the versions in a catalog, the oldest first.
func publishedIn(content []byte) ([]string, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	for {
		var entry channelEntry
		err := decoder.Decode(&entry)
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("the catalog has no channel %s", Channel)
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
	return filepath.Join(c.catalogDir(), catalogName)
}

// writeCatalog makes these versions the content of the cluster's catalog.
func (c Cluster) writeCatalog(versions []string) error {
	var bundles []Bundle
	for _, version := range versions {
		bundles = append(bundles, Bundle{Version: version})
	}
	return writeCatalog(bundles, c.catalogFile(), c.home())
}

// writeCatalog replaces the file of a catalog in one step, so that the server never reads half a file. It writes the new file in temporaryDir first: the server
// serves every file in the catalog's own folder.
func writeCatalog(bundles []Bundle, file, temporaryDir string) error {
	content, err := renderCatalog(bundles)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	temporary := filepath.Join(temporaryDir, ".catalog.new")
	if err := os.WriteFile(temporary, content, 0o644); err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	if err := os.Rename(temporary, file); err != nil {
		return fmt.Errorf("writing the catalog: %w", err)
	}
	return nil
}
