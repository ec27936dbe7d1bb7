// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// What follows is the part of SPDX 2.3 in JSON that an SBOM of a Go binary needs: https://spdx.github.io/spdx-spec/v2.3/.
type spdxDocument struct {
	Version       string             `json:"spdxVersion"`
	License       string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID               string         `json:"SPDXID"`
	Name             string         `json:"name"`
	Version          string         `json:"versionInfo"`
	Location         string         `json:"downloadLocation"`
	FilesAnalyzed    bool           `json:"filesAnalyzed"`
	LicenseConcluded string         `json:"licenseConcluded"`
	LicenseDeclared  string         `json:"licenseDeclared"`
	Copyright        string         `json:"copyrightText"`
	Comment          string         `json:"comment,omitempty"`
	References       []spdxExternal `json:"externalRefs,omitempty"`
}

type spdxExternal struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// unknown is the value in SPDX for a field about which the document makes no statement.
const unknown = "NOASSERTION"

// sbom returns the SBOM of a binary in SPDX format. It takes the modules from the build information in the binary.
func (r buildInfo) sbom(binary, program string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading the build information of %s: %w", program, err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	const main = "SPDXRef-Package-main"
	doc := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "fairlead-" + program,
		// SPDX wants a name that no other document has. The binary's digest is one, and is the same for the same binary.
		Namespace: fmt.Sprintf("https://github.com/fairlead-dev/fairlead/sbom/%s-%x", program, sha256.Sum256(content)),
		Creation:  spdxCreation{Created: r.time.Format(time.RFC3339), Creators: []string{"Tool: fairlead-make-images"}},
		Packages: []spdxPackage{
			pkg(main, info.Main.Path, r.version, "Apache-2.0"),
			pkg("SPDXRef-Package-go", "std", strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause"),
		},
		Relationships: []spdxRelationship{
			{"SPDXRef-DOCUMENT", "DESCRIBES", main},
			{main, "DEPENDS_ON", "SPDXRef-Package-go"},
		},
	}
	for i, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		p := module(fmt.Sprintf("SPDXRef-Package-%d", i+1), dep)
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, spdxRelationship{main, "DEPENDS_ON", p.ID})
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return nil, fmt.Errorf("writing the SBOM of %s: %w", program, err)
	}
	return append(text, '\n'), nil
}

func module(id string, m *debug.Module) spdxPackage {
	p := pkg(id, m.Path, m.Version, unknown)
	if m.Sum != "" {
		p.Comment = "go.sum: " + m.Sum
	}
	return p
}

func pkg(id, path, version, license string) spdxPackage {
	return spdxPackage{ID: id, Name: path, Version: version, Location: unknown,
		LicenseConcluded: unknown, LicenseDeclared: license, Copyright: unknown,
		References: []spdxExternal{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + url.PathEscape(version)}}}
}
