// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestTheSameFilesGiveTheSameArchive(t *testing.T) {
	at, dir := time.Unix(1_700_000_000, 0), t.TempDir()
	entries := []entry{{"hostctl", 0o755, []byte("program")}, {"LICENSE", 0o644, []byte("text")}}
	var archives []string
	for _, name := range []string{"a.tar.gz", "b.tar.gz"} {
		if err := writeArchive(filepath.Join(dir, name), entries, at); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, string(content))
		slices.Reverse(entries)
	}
	if archives[0] != archives[1] {
		t.Error("the order of the entries changes the archive")
	}
	read, err := readTarGz(filepath.Join(dir, "a.tar.gz"))
	want := []entry{{"LICENSE", 0o644, []byte("text")}, {"hostctl", 0o755, []byte("program")}}
	if diff := cmp.Diff(want, read, cmp.AllowUnexported(entry{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"b": "", "a": "abc"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := sumsOf(dir)
	want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if diff := cmp.Diff(want, string(formatSums(sums))); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestTheKrewManifestNamesEachArchiveWithItsSum(t *testing.T) {
	r := &release{version: "v0.1.0"}
	sums := map[string]string{}
	for i, p := range platforms {
		sums[r.archive(p)] = strings.Repeat(string(rune('a'+i)), 64)
	}
	var manifest struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version   string
			Platforms []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, Sha256, Bin string
			}
		}
	}
	if err := yaml.Unmarshal(krewManifest(r, sums), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Metadata.Name != "fairlead" || manifest.Spec.Version != "v0.1.0" || len(manifest.Spec.Platforms) != len(platforms) {
		t.Fatalf("%+v", manifest)
	}
	for i, got := range manifest.Spec.Platforms {
		p := platforms[i]
		want := "https://github.com/fairlead-dev/fairlead/releases/download/v0.1.0/hostctl_v0.1.0_" + p.os + "_" + p.arch + ".tar.gz"
		if got.URI != want || got.Sha256 != sums[r.archive(p)] || got.Selector.MatchLabels["os"] != p.os || got.Selector.MatchLabels["arch"] != p.arch ||
			(got.Bin == "hostctl.exe") != (p.os == "windows") {
			t.Errorf("%s/%s: %+v", p.os, p.arch, got)
		}
	}
}

// A stub stands for cosign. The test checks when cosign is called, and that the signature stays out of the transparency log.
func TestSigningNeedsAKeyAndCosign(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("COSIGN_KEY", "")
	if s, reason := findSigner(); s != nil || !strings.Contains(reason, "COSIGN_KEY is not given") {
		t.Errorf("%+v %s", s, reason)
	}
	t.Setenv("COSIGN_KEY", "k.key")
	if s, reason := findSigner(); s != nil || !strings.Contains(reason, "cosign is not on the PATH") {
		t.Errorf("%+v %s", s, reason)
	}
	stub := "#!/bin/sh\necho \"$@\" >" + filepath.Join(dir, "args") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "cosign"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	s, _ := findSigner()
	if s == nil {
		t.Fatal("cosign is not found")
	}
	if err := s.sign(t.Context(), "SHA256SUMS"); err != nil {
		t.Fatal(err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	want := "sign-blob --yes --tlog-upload=false --key k.key --output-signature SHA256SUMS.sig SHA256SUMS\n"
	if diff := cmp.Diff(want, string(args)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}
