// SPDX-License-Identifier: Apache-2.0

package diagnose

// output is what -o json and -o yaml print. The names of its fields are stable.
type output struct {
	// Path is the archive, and Bytes its size.
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// Scope is what the archive is about, for example "namespace shop".
	Scope string `json:"scope"`
	// Files are the files in the archive, with their sizes before compression.
	Files []outputFile `json:"files"`
	// Unread are the parts that could not be read, each with the reason. LeftOut are notes about what the archive has no room for.
	Unread  []string `json:"unread"`
	LeftOut []string `json:"leftOut"`
	// Redacted tells how much is redacted, in words.
	Redacted string `json:"redacted"`
}

type outputFile struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// outputOf returns the output about an archive that is complete.
func outputOf(c *collection, scope string, size int64) *output {
	out := &output{Path: c.archive.path, Bytes: size, Scope: scope, Files: []outputFile{}, Unread: append([]string{}, c.notRead...),
		LeftOut: append([]string{}, c.leftOut()...), Redacted: c.redaction.String()}
	for _, file := range c.archive.files {
		out.Files = append(out.Files, outputFile{file.name, file.size})
	}
	return out
}
