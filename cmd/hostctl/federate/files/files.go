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

// Read reads the files and folders of -f in the given order, and the files of one folder in alphabetical order. Input such as /dev/zero
// has no end, so Read stops one byte after limit. By this additional byte the caller can tell that the input is too large.
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
				return nil, fmt.Errorf("reading standard input: -f - is given twice")
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
	defer file.Close() //nolint:errcheck // Read only reads the file, so the error does not matter
	return add(path, found, file)
}

// files returns the paths of the files for one name of -f: the name itself, or the .yaml, .yml and .json files in a folder of that name.
func files(name string, recursive bool) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var paths []string
	// WalkDir visits the files in alphabetical order. It follows a symbolic link to a folder only because of the separator at
	// the end of root.
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
		return nil, fmt.Errorf("reading %s: it holds no .yaml, .yml or .json file%s", name,
			map[bool]string{false: " (-R also reads the folders in it)"}[recursive])
	}
	return paths, nil
}
