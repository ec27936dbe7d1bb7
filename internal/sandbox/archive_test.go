// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var of = label{Sandbox: "mine", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Taken: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}

// packed makes a snapshot of a folder with one file, which stands for etcd's folder.
func packed(t *testing.T) string {
	t.Helper()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "host.tar.gz")
	if err := os.MkdirAll(filepath.Join(dir, "member", "wal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "member", "wal", "0.wal"), bytes.Repeat([]byte("all that was"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pack(file, of, dir); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestASnapshotRestoresItsContent(t *testing.T) {
	file, dir := packed(t), filepath.Join(t.TempDir(), "etcd")
	if err := unpack(file, of, dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "member", "wal", "0.wal"))
	if err != nil || !bytes.Equal(got, bytes.Repeat([]byte("all that was"), 1000)) {
		t.Errorf("the restored file has %d bytes, or other content than before: %v", len(got), err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the snapshot has mode %v, want 0600, because it holds Secrets (%v)", info.Mode(), err)
	}
	left, err := filepath.Glob(file + "*")
	if diff := cmp.Diff([]string{file}, left); diff != "" || err != nil {
		t.Errorf("files beside the snapshot (-want +got):\n%s", diff)
	}
}

// archive returns a snapshot of sandbox "mine" whose tar archive has these headers.
func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	w := tar.NewWriter(compressed)
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range append([]tar.Header{{Typeflag: tar.TypeReg, Name: labelName, Size: int64(len(text))}}, headers...) {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Name == labelName {
			if _, err := w.Write(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOnlyASnapshotOfThisSandboxIsAccepted(t *testing.T) {
	content, err := os.ReadFile(packed(t))
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(content)
	broken[len(broken)-6] ^= 1 // this byte belongs to the checksum
	elder := of
	elder.Created = of.Created.Add(-time.Hour)
	for name, test := range map[string]struct {
		content []byte
		want    label
		says    string
	}{
		"a snapshot of another sandbox":        {content, label{Sandbox: "yours", Created: of.Created}, "--name mine"},
		"of an earlier sandbox with this name": {content, label{Sandbox: "mine", Created: elder.Created}, "has other keys"},
		"a file that is no archive":            {[]byte("kind: Pod"), of, "is no snapshot"},
		"an empty file":                        {nil, of, "is no snapshot"},
		"the first half of a snapshot":         {content[:len(content)/2], of, "EOF"},
		"a snapshot with one bit changed":      {broken, of, "is damaged"},
		"a snapshot without etcd's folder":     {archive(t), of, "is damaged"},
		"an entry outside the target folder":   {archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "../out"}), of, "is damaged"},
		"a snapshot with a symbolic link":      {archive(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "member", Linkname: "/etc"}), of, "neither a file nor a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			parent := t.TempDir()
			err := unpack(file, test.want, filepath.Join(parent, "etcd"))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("unpacking returned %v, want an error with %q", err, test.says)
			}
			if _, err := os.Stat(filepath.Join(parent, "out")); err == nil {
				t.Error("unpacking wrote a file outside the target folder")
			}
		})
	}
}
