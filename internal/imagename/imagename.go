// SPDX-License-Identifier: Apache-2.0

package imagename

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The regular expressions of the three parts of an image name. values.schema.json of the chart has the same ones.
const (
	RepositoryPattern = `^(` + hostPattern + `(:[0-9]+)?/)?` + pathPattern + `(/` + pathPattern + `)*$`
	TagPattern        = `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`
	DigestPattern     = `^sha256:[0-9a-f]{64}$`

	hostPattern = `([A-Za-z0-9]+([.-]+[A-Za-z0-9]+)*|\[[0-9A-Fa-f:]+\])`
	pathPattern = `[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*`
)

var (
	repositoryForm = regexp.MustCompile(RepositoryPattern)
	tagForm        = regexp.MustCompile(TagPattern)
	digestForm     = regexp.MustCompile(DigestPattern)
)

// maxRepository is the largest length of a repository that registries accept, in characters.
const maxRepository = 255

// Name is the name of an image. Tag and Digest are "" if the name does not have them.
type Name struct{ Repository, Tag, Digest string }

// Parse parses REPOSITORY[:TAG][@DIGEST]. Its error quotes the text, tells which part is wrong and shows the correct form.
// The caller adds to the error the flag or the field that has the text.
func Parse(text string) (Name, error) {
	n, err := parse(text)
	if err != nil {
		return Name{}, fmt.Errorf("%q is not an image reference: %w. Write REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:DIGEST", text, err)
	}
	return n, nil
}

func parse(text string) (Name, error) {
	if text == "" {
		return Name{}, errors.New("it is empty")
	}
	var n Name
	var hasDigest, hasTag bool
	n.Repository, n.Digest, hasDigest = strings.Cut(text, "@")
	// A colon before the last slash does not begin the tag: a port follows it.
	path := strings.LastIndex(n.Repository, "/") + 1
	if colon := strings.LastIndex(n.Repository[path:], ":"); colon >= 0 {
		hasTag, n.Tag, n.Repository = true, n.Repository[path+colon+1:], n.Repository[:path+colon]
	}
	if err := CheckRepository(n.Repository); err != nil {
		return Name{}, err
	}
	if hasTag {
		if err := CheckTag(n.Tag); err != nil {
			return Name{}, err
		}
	}
	if hasDigest {
		if err := CheckDigest(n.Digest); err != nil {
			return Name{}, err
		}
	}
	return n, nil
}

// CheckRepository returns an error if repository is not of the form [HOST[:PORT]/]PATH.
func CheckRepository(repository string) error {
	_, afterScheme, isURL := strings.Cut(repository, "://")
	switch {
	case isURL:
		return fmt.Errorf("%q is a URL and not a repository: write %q", repository, afterScheme)
	case len(repository) > maxRepository:
		return fmt.Errorf("the repository has %d characters, and registries accept at most %d", len(repository), maxRepository)
	case !repositoryForm.MatchString(repository):
		return fmt.Errorf("%q is not a repository: write HOST[:PORT]/PATH without tag and digest, the path in lower case, "+
			"as in registry.your.org/fairlead/manager", repository)
	}
	return nil
}

// CheckTag returns an error if tag is not the tag of an image.
func CheckTag(tag string) error {
	if !tagForm.MatchString(tag) {
		return fmt.Errorf("%q is not a valid image tag: a tag has at most 128 letters, digits, and the characters _ . -, and begins with neither . nor -", tag)
	}
	return nil
}

// CheckDigest returns an error if digest is not "sha256:" and 64 hexadecimal digits.
func CheckDigest(digest string) error {
	if !digestForm.MatchString(digest) {
		return fmt.Errorf("%q is not a digest: write \"sha256:\", followed by 64 digits from 0 to 9 or a to f", digest)
	}
	return nil
}

// TagOf returns the image tag for a version: a tag cannot contain a plus sign, so a dash takes its place. `make images`
// tags images in the same way.
func TagOf(version string) string { return strings.ReplaceAll(version, "+", "-") }
