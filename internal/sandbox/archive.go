// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	// labelName is the name of the first file in a snapshot's tar archive. This file has the snapshot's label as JSON.
	labelName = "fairlead-snapshot.json"
	// maxLabel bounds the size of that file, in bytes.
	maxLabel = 64 << 10
)

// label tells which sandbox a snapshot belongs to.
type label struct {
	Sandbox string    `json:"sandbox"`
	Created time.Time `json:"created"` // the time of the sandbox's creation, which tells it from a later sandbox of the same name
	Taken   time.Time `json:"taken"`
}

// pack writes a snapshot into a file: the label, and the files of the folder dir. Only the owner may read the file, because it has
// Secrets. After an error, pack leaves no incomplete file.
func pack(file string, is label, dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", file, err)
		}
	}()
	out, err := os.OpenFile(filepath.Clean(file)+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leftover(os.Remove(out.Name()))) }()
	compressed, _ := gzip.NewWriterLevel(out, gzip.BestSpeed) // no error is possible: the level is valid
	w := tar.NewWriter(compressed)
	text, err := json.Marshal(is)
	if err == nil {
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: labelName, Mode: 0o600, Size: int64(len(text)), ModTime: is.Taken})
	}
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.AddFS(os.DirFS(dir))
	}
	err = errors.Join(err, w.Close(), compressed.Close(), out.Sync(), out.Close())
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), file)
}

// leftover takes the error of os.Remove. It returns nil if the file did not exist, and any other error unchanged.
func leftover(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// unpack writes the files of a snapshot into a new folder dir. It refuses a file that is no snapshot, and a snapshot of another sandbox.
func unpack(file string, want label, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	defer func() { _ = in.Close() }() // the file was only read, so the error does not matter
	compressed, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%s is no snapshot of a sandbox: %w", file, err)
	}
	r := tar.NewReader(compressed)
	is, err := readLabel(r)
	switch {
	case err != nil:
		return fmt.Errorf("%s is no snapshot of a sandbox: %w", file, err)
	case is.Sandbox != want.Sandbox:
		return fmt.Errorf("%s is a snapshot of sandbox %s, not of %s: give --name %s, or another file", file, is.Sandbox, want.Sandbox, is.Sandbox)
	case !is.Created.Equal(want.Created):
		return fmt.Errorf("%s is a snapshot of an earlier sandbox %s, made %s; the present one was made %s and has other keys, so the snapshot cannot be restored into it",
			file, is.Sandbox, is.Created.Format(time.RFC3339), want.Created.Format(time.RFC3339))
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("unpacking %s: %w", file, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("unpacking %s: %w", file, err)
	}
	root, err := os.OpenRoot(dir) // root refuses an entry whose path leads out of dir
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", file, err)
	}
	err = unpackInto(root, r)
	if err == nil {
		_, err = io.Copy(io.Discard, compressed) // read to the end of the stream, where gzip checks its checksum
	}
	if err == nil {
		_, err = root.Stat("member")
	}
	if err = errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("%s is damaged or incomplete: %w", file, err)
	}
	return nil
}

func readLabel(r *tar.Reader) (label, error) {
	var is label
	header, err := r.Next()
	if err != nil {
		return is, err
	}
	if header.Name != labelName {
		return is, fmt.Errorf("its first entry is %q, not %q", header.Name, labelName)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxLabel))
	if err != nil {
		return is, err
	}
	return is, json.Unmarshal(text, &is)
}

func unpackInto(root *os.Root, r *tar.Reader) error {
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			if err := root.MkdirAll(filepath.Clean(name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		case tar.TypeReg:
			if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				return err
			}
			if err := unpackFile(root, name, r); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is neither a file nor a folder", header.Name)
		}
	}
}

func unpackFile(root *os.Root, name string, r io.Reader) error {
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r) //nolint:gosec // a user can fill only the user's own disk with an archive bomb
	return errors.Join(err, out.Sync(), out.Close())
}
