// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

// A kind tells how much of the text after a key is its value.
type kind int

const (
	noSecret kind = iota
	ordinary      // one word, or a text in quotes
	password      // like ordinary; the whole line if the key begins the line, because a passphrase has spaces
	header        // the rest of the line: cookies, Authorization, connection strings
)

const (
	// maxKey is the number of bytes that are read of the name of a key: the last ones, if the name is longer.
	maxKey = 64
	// minCutKey is the number of letters of a secret's name that have to be left at the start of a text, if the rest
	// was cut off.
	minCutKey = 3
)

// keyKind returns the kind of the value after a key. The parameter name is the name of the key. keyKind joins the words
// of the name, so pass_word counts as password.
func keyKind(name string) kind {
	if len(name) < 2 {
		return noSecret
	}
	words := split(name)
	if len(words) == 0 || len(words) > 1 && slices.Contains(plainEndings, words[len(words)-1]) {
		return noSecret
	}
	all := strings.Join(words, "")
	has := func(part string) bool { return strings.Contains(all, part) }
	// JSON of AWS and of OAuth writes names in one word: "tokentype".
	if len(words) == 1 && (strings.HasSuffix(all, "type") || strings.HasSuffix(all, "name")) {
		return noSecret
	}
	switch {
	case has("cookie"), has("authorization"), has("connectionstring"), has("connstr"):
		return header
	case has("passw"), has("passphrase"), has("pwd"):
		return password
	}
	for _, part := range secretNames {
		if has(part) {
			return ordinary
		}
	}
	for _, w := range words {
		if slices.Contains(secretWords, w) {
			return ordinary
		}
	}
	return noSecret
}

// split returns the words of a key's name in lower case, without the numbers at their ends: dbPassword2, DB_PASSWORD and
// db-password become db, password.
func split(name string) []string {
	var words []string
	start := 0
	cut := func(end int) {
		if w := strings.TrimRight(strings.ToLower(name[start:end]), "0123456789"); w != "" {
			words = append(words, w)
		}
	}
	for i := range len(name) {
		if !alnum[name[i]] {
			cut(i)
			start = i + 1
			continue
		}
		if i == start {
			continue
		}
		before, here := classOf(name[i-1]), classOf(name[i])
		lowerNext := i+1 < len(name) && classOf(name[i+1]) == lowerClass
		if here == upperClass && (before == lowerClass || before == upperClass && lowerNext) {
			cut(i)
			start = i
		}
	}
	cut(len(name))
	return words
}

// keyBefore returns the start and the kind of the key that ends before i, with white space, quotes and brackets between.
func keyBefore(text string, i int) (int, kind) {
	for stop := max(0, i-4); i > stop && (text[i-1] == ' ' || text[i-1] == '\t'); {
		i--
	}
	for stop := max(0, i-16); i > stop && strings.IndexByte("\"'`\\]", text[i-1]) >= 0; {
		i--
	}
	from := keyText.start(text, i, maxKey)
	// Escaped white space before the key: "\npassword=".
	if from > 0 && text[from-1] == '\\' && from < i && escapedSpace(text[from]) {
		from++
	}
	name := text[from:i]
	if k := keyKind(name); k != noSecret {
		return from, k
	}
	return longKey(text, from, name)
}

// longKey is keyBefore for a key of several words, whose last word is name and begins at from: "api key", "secret access key id",
// "connection string".
func longKey(text string, from int, name string) (int, kind) {
	if from == 0 || text[from-1] != ' ' || len(name) > 6 {
		return from, noSecret
	}
	first := keyText.start(text, from-1, maxKey)
	before := strings.ToLower(text[first : from-1])
	switch last := strings.ToLower(name); {
	case (last == "key" || last == "keys") && slices.Contains(keyQualifiers, before):
		return first, ordinary
	case last == "string" && before == "connection":
		return first, header
	case last == "id" && before == "key":
		return keyBefore(text, from-1)
	}
	return from, noSecret
}

// namedValue matches an entry of a list of names and values up to the key of the value. Such a list is the environment
// of a container: {"name":"DB_PASSWORD","value":"…"}, also as YAML, as XML and as Go prints it.
var namedValue = regexp.MustCompile(`(?i)\b(?:name|key)[\\"']*\s*[:=]\s*[\\"']*([A-Za-z0-9_.-]+)[\\"']*[,;\s]*[\\"']*value[\\"']*\s*$`)

// environment returns the kind of the value of an entry that namedValue matches, if the key that ends before i is
// "value".
func environment(text string, i int) kind {
	end := i
	for stop := max(0, i-8); end > stop && strings.IndexByte("\"'\\ ", text[end-1]) >= 0; {
		end--
	}
	if !hasAt(text, end-len("value"), "value") {
		return noSecret
	}
	m := namedValue.FindStringSubmatch(text[max(0, i-192):i])
	if m == nil {
		return noSecret
	}
	return keyKind(m[1])
}
