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

// packed makes a snapshot of a folder that has one file instead of etcd's.
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
		t.Errorf("%d bytes, %v", len(got), err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the Secrets in it: %v, %v", info.Mode(), err)
	}
	left, err := filepath.Glob(file + "*")
	if diff := cmp.Diff([]string{file}, left); diff != "" || err != nil {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// archive makes a snapshot with these entries.
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
	broken[len(broken)-6] ^= 1 // this byte is part of the checksum
	elder := of
	elder.Created = of.Created.Add(-time.Hour)
	for name, test := range map[string]struct {
		content []byte
		want    label
		says    string
	}{
		"another sandbox's":               {content, label{Sandbox: "yours", Created: of.Created}, "--name mine"},
		"an earlier one's of that name":   {content, label{Sandbox: "mine", Created: elder.Created}, "has other keys"},
		"garbage":                         {[]byte("kind: Pod"), of, "is no snapshot"},
		"an empty file":                   {nil, of, "is no snapshot"},
		"half of one":                     {content[:len(content)/2], of, "EOF"},
		"one with a bit turned over":      {broken, of, "is damaged"},
		"one without etcd's folder":       {archive(t), of, "is damaged"},
		"one that leads out of its place": {archive(t, tar.Header{Typeflag: tar.TypeReg, Name: "../out"}), of, "is damaged"},
		"one with a link in it":           {archive(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "member", Linkname: "/etc"}), of, "neither a file nor a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			parent := t.TempDir()
			err := unpack(file, test.want, filepath.Join(parent, "etcd"))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			if _, err := os.Stat(filepath.Join(parent, "out")); err == nil {
				t.Error("it wrote out of its place")
			}
		})
	}
}
