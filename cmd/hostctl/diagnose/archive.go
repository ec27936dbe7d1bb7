// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// archive is a compressed tar file that is being written. Until commit it has a temporary name.
type archive struct {
	path string // the final name
	temp *os.File
	gzip *gzip.Writer
	tar  *tar.Writer
	now  time.Time

	// most is the largest total size of the files in bytes, before compression. Only the index may exceed it.
	most, size int64
	files      []entry
	// omitted is the number of files for which there was no room.
	omitted int
}

// entry is a file in the archive.
type entry struct {
	name string
	size int
}

// errWrite is wrapped by every error about the archive itself. Such an error ends the command.
var errWrite = errors.New("writing the archive")

// create begins an archive in a directory. The file is named by the time and can be read only by its owner.
func create(directory string, now time.Time, most int64) (*archive, error) {
	now = now.UTC().Truncate(time.Second)
	a := &archive{path: filepath.Join(directory, "fairlead-diagnose-"+now.Format("20060102T150405Z")+".tar.gz"), now: now, most: most}
	if _, err := os.Lstat(a.path); err == nil {
		return nil, exists(a.path)
	}
	var err error
	if a.temp, err = os.CreateTemp(directory, ".fairlead-diagnose-*.tmp"); err != nil { // with mode 0600
		return nil, fmt.Errorf("%w: %w", errWrite, err)
	}
	a.gzip = gzip.NewWriter(a.temp)
	a.tar = tar.NewWriter(a.gzip)
	return a, nil
}

func exists(path string) error {
	return fmt.Errorf("%s exists already, and diagnose overwrites no file: move it, or give another --output-directory", path)
}

// add writes a file. If the archive has no room for it, add counts it as omitted.
func (a *archive) add(name string, content []byte) error {
	if a.size+int64(len(content)) > a.most {
		a.omitted++
		return nil
	}
	return a.write(name, content)
}

// write writes a file, even if the archive has reached its limit.
func (a *archive) write(name string, content []byte) error {
	folder := strings.TrimSuffix(filepath.Base(a.path), ".tar.gz")
	header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(folder, name), Mode: 0o600, Size: int64(len(content)), ModTime: a.now}
	err := a.tar.WriteHeader(header)
	if err == nil {
		_, err = a.tar.Write(content)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	a.size += int64(len(content))
	a.files = append(a.files, entry{name, len(content)})
	return nil
}

// commit completes the archive, gives it its name, and returns its size in bytes. It never replaces a file.
func (a *archive) commit() (int64, error) {
	size, err := a.close()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errWrite, err)
	}
	// A link fails if the name is taken, where a rename would replace that file.
	err = os.Link(a.temp.Name(), a.path)
	if errors.Is(err, fs.ErrExist) {
		return 0, exists(a.path)
	}
	if err == nil {
		return size, nil // discard removes the temporary name
	}
	// Not every file system has links.
	if _, err := os.Lstat(a.path); err == nil {
		return 0, exists(a.path)
	}
	if err := os.Rename(a.temp.Name(), a.path); err != nil {
		return 0, fmt.Errorf("%w: %w", errWrite, err)
	}
	return size, nil
}

func (a *archive) close() (int64, error) {
	if err := errors.Join(a.tar.Close(), a.gzip.Close(), a.temp.Sync()); err != nil {
		return 0, err
	}
	info, err := a.temp.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), a.temp.Close()
}

// discard removes the temporary file. After commit it leaves the archive alone.
func (a *archive) discard() {
	_ = a.temp.Close() // no error matters: the file is removed next, or commit has closed it
	_ = os.Remove(a.temp.Name())
}
