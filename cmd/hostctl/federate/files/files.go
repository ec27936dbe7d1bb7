// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-dev/fairlead/federate/author"
)

// Read reads what -f names, in that order, folders by the alphabet. It stops soon behind the limit, in bytes: what is
// larger is refused anyway, and /dev/zero has no end.
func Read(names []string, recursive bool, stdin io.Reader, limit int) ([]author.Source, error) {
	var sources []author.Source
	left := int64(limit + 1)
	add := func(name string, found bool, from io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(from, left))
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		left -= int64(len(data))
		sources = append(sources, author.Source{Name: name, Data: data, Found: found})
		return nil
	}
	seenStdin := false
	for _, name := range names {
		if name == "-" {
			if seenStdin {
				return nil, fmt.Errorf("reading standard input: -f - is there twice")
			}
			seenStdin = true
			if err := add("standard input", false, stdin); err != nil {
				return nil, err
			}
			continue
		}
		paths, err := files(name, recursive)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if err := addFile(path, path != name, add); err != nil {
				return nil, err
			}
		}
	}
	return sources, nil
}

func addFile(path string, found bool, add func(string, bool, io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	return add(path, found, file)
}

// files are the manifests that a name stands for: itself, or those in the folder.
func files(name string, recursive bool) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var paths []string
	// WalkDir goes by the alphabet. The separator makes it follow a link to a folder.
	root := name + string(filepath.Separator)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("reading %s: there is no .yaml, .yml or .json file in it%s", name,
			map[bool]string{false: " (-R looks into its folders too)"}[recursive])
	}
	return paths, nil
}
