// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sumsFile is the name of the file with the checksums, in the format of `sha256sum -c`.
const sumsFile = "SHA256SUMS"

// sumsOf returns the SHA-256 of each file in a folder, in hexadecimal, by file name.
func sumsOf(folder string) (map[string]string, error) {
	entries, err := readFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the files for their checksums: %w", err)
	}
	sums := make(map[string]string, len(entries))
	for _, e := range entries {
		sums[e.name] = fmt.Sprintf("%x", sha256.Sum256(e.content))
	}
	return sums, nil
}

// formatSums returns the content of sumsFile.
func formatSums(sums map[string]string) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
	}
	return []byte(b.String())
}
