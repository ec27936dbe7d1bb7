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
	// maxKey is the longest name of a key, in bytes. Of a longer one, the last bytes count.
	maxKey = 64
	// minCutKey is how many letters of a secret's name have to be left at the start of a text, if the rest was cut off.
	minCutKey = 3
)

// keyKind returns the kind of the value after the key name.
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
// db-password become db, password. It joins "pass" and "word" if they are written as two words.
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

// keyed finds values by the names of their keys: key=value, key: value, "key":"value", --key value, <key>value</key>.
func (s *scan) keyed() {
	s.cutKey()
	for i := 0; i < len(s.text); {
		i = max(s.separator(i), i+1)
	}
}

// separator looks at the byte i. If a key and a separator end there, it notes the value and returns where the value ends.
// Otherwise it returns 0.
func (s *scan) separator(i int) int {
	switch s.text[i] {
	case '=', ':':
		return s.sign(i)
	case '%': // = and : in a query or a form
		if s.hasAt(i, "%3d") || s.hasAt(i, "%3a") {
			end := i
			if s.hasAt(end-3, "%22") {
				end -= 3
			}
			if _, k := s.keyBefore(end); k != noSecret {
				return s.encoded(i + 3)
			}
		}
	case '>': // XML
		if from, k := s.keyBefore(i); k != noSecret && from > 0 && s.text[from-1] == '<' {
			to := i + 1
			for to < len(s.text) && s.text[to] != '<' {
				to++
			}
			s.add(i+1, to)
			return to
		}
	case ' ':
		return s.phrase(i)
	case '-':
		return s.flag(i)
	case 'I', 'i':
		if words := "identified by "; s.hasAt(i, words) { // SQL: CREATE USER
			return s.value(i+len(words), value{kind: ordinary, quotedOnly: true})
		}
	}
	return 0
}

// sign handles a key before "=", ":", ":=", "=>" or "==" at i.
func (s *scan) sign(i int) int {
	to := i + 1
	for to < len(s.text) && to < i+3 && strings.IndexByte("=>:", s.text[to]) >= 0 {
		to++
	}
	// "a::b" is a path of Rust or C++, and "a != b" compares.
	if s.text[i] == ':' && to > i+1 && s.text[i+1] == ':' {
		return to
	}
	if i > 0 && s.text[i-1] == '!' {
		return to
	}
	// YAML may have "key: >" before a block.
	if s.text[i] == ':' && to > i+1 && s.text[i+1] == '>' {
		to = i + 1
	}
	from, k := s.keyBefore(i)
	if k == noSecret {
		if k = s.environment(i); k == noSecret {
			return 0
		}
		return s.value(to, value{kind: ordinary})
	}
	v := value{kind: k, key: from, colon: s.text[i] == ':'}
	// Errors of Go's package oauth2 begin with its name.
	if v.colon && strings.EqualFold(s.text[from:i], "oauth2") {
		return to
	}
	if v.colon && s.plainAfterColon(from, i, to) {
		return to
	}
	return s.value(to, v)
}

// keyBefore returns the start and the kind of the key that ends before i, with white space, quotes and brackets between.
func (s *scan) keyBefore(i int) (int, kind) {
	for stop := max(0, i-4); i > stop && (s.text[i-1] == ' ' || s.text[i-1] == '\t'); {
		i--
	}
	for stop := max(0, i-16); i > stop && strings.IndexByte("\"'`\\]", s.text[i-1]) >= 0; {
		i--
	}
	from := s.runBack(i, keyText, maxKey)
	// Escaped white space before the key: "\npassword=".
	if from > 0 && s.text[from-1] == '\\' && from < i && strings.IndexByte("ntr", s.text[from]) >= 0 {
		from++
	}
	name := s.text[from:i]
	if k := keyKind(name); k != noSecret {
		return from, k
	}
	return s.longKey(from, name)
}

// longKey is keyBefore for a key of several words, whose last word is name and begins at from: "api key", "secret access key id",
// "connection string".
func (s *scan) longKey(from int, name string) (int, kind) {
	if from == 0 || s.text[from-1] != ' ' || len(name) > 6 {
		return from, noSecret
	}
	first := s.runBack(from-1, keyText, maxKey)
	before := strings.ToLower(s.text[first : from-1])
	switch last := strings.ToLower(name); {
	case (last == "key" || last == "keys") && slices.Contains(keyQualifiers, before):
		return first, ordinary
	case last == "string" && before == "connection":
		return first, header
	case last == "id" && before == "key":
		return s.keyBefore(from - 1)
	}
	return from, noSecret
}

// namedValue is the end of an entry of a list of names and values, such as the environment of a container:
// {"name":"DB_PASSWORD","value":"…"}, also as YAML, as XML and as Go prints it.
var namedValue = regexp.MustCompile(`(?i)\b(?:name|key)[\\"']*\s*[:=]\s*[\\"']*([A-Za-z0-9_.-]+)[\\"']*[,;\s]*[\\"']*value[\\"']*\s*$`)

// environment returns the kind of the value of such an entry, if the key that ends before i is "value".
func (s *scan) environment(i int) kind {
	end := i
	for stop := max(0, i-8); end > stop && strings.IndexByte("\"'\\ ", s.text[end-1]) >= 0; {
		end--
	}
	if !s.hasAt(end-len("value"), "value") {
		return noSecret
	}
	m := namedValue.FindStringSubmatch(s.text[max(0, i-192):i])
	if m == nil {
		return noSecret
	}
	return keyKind(m[1])
}

// plainAfterColon reports whether "key:" is no key but a host, an image or a file: auth:8080, shop/auth:v1.2, token.go:42.
func (s *scan) plainAfterColon(from, colon, to int) bool {
	if to >= len(s.text) || !alnum[s.text[to]] || s.text[colon-1] == '"' {
		return false
	}
	end := s.run(to, keyText)
	after := strings.TrimRight(s.text[to:end], ".-")
	name := strings.ToLower(s.text[from:colon])
	if from > 0 && s.text[from-1] == '/' && (end == len(s.text) || !tokenText[s.text[end]]) && !random(after) && len(after) <= 40 {
		return true // an image, or a URL with a port
	}
	host := strings.ContainsAny(name, "-.") || name == "auth" || name == "oauth" || strings.HasPrefix(name, "session")
	version := strings.TrimPrefix(after, "v")
	return host && strings.Trim(version, "0123456789.") == "" && len(version) <= 12 && (len(version) <= 5 || strings.Contains(version, "."))
}

// phrase handles "password is …", and a password in quotes after the word: PASSWORD 'x'.
func (s *scan) phrase(i int) int {
	for _, verb := range []string{" is ", " was ", " is: ", " set to "} {
		if !s.hasAt(i, verb) {
			continue
		}
		if from, k := s.keyBefore(i); k != noSecret {
			return s.value(i+len(verb), value{kind: ordinary, key: from, sentence: true, password: k == password})
		}
	}
	if i+1 < len(s.text) && (s.text[i+1] == '\'' || s.text[i+1] == '"') {
		if from, k := s.keyBefore(i); k == password {
			return s.value(i+1, value{kind: ordinary, key: from, quotedOnly: true})
		}
	}
	return 0
}

// flag handles "--token value", "-password value" and the same in a list of quoted arguments. It also handles curl's
// "-u user:password".
func (s *scan) flag(i int) int {
	if i > 0 && strings.IndexByte(" \t\n\"'`[(,=", s.text[i-1]) < 0 {
		return 0
	}
	end := s.run(i, keyText)
	name := strings.TrimLeft(s.text[i:min(end, i+maxKey)], "-")
	next := end
	for next < len(s.text) && next < end+12 && strings.IndexByte(" \t\n\"',\\", s.text[next]) >= 0 {
		next++
	}
	if next == end || next >= len(s.text) || s.text[next] == '-' {
		return 0
	}
	if name == "u" || name == "user" || name == "proxy-user" {
		to := s.tokenEnd(next)
		if colon := strings.IndexByte(s.text[next:to], ':'); colon > 0 && colon+1 < to-next && !strings.Contains(s.text[next:to], "//") {
			s.add(next+colon+1, to)
			return to
		}
		return 0
	}
	if keyKind(name) == noSecret {
		return 0
	}
	// The value's own quote belongs to the value, so that the value ends with it.
	for next > end && strings.IndexByte("\"'\\", s.text[next-1]) >= 0 {
		next--
	}
	if next == end {
		return 0
	}
	return s.value(next, value{kind: ordinary, key: i, sentence: true, password: true})
}

// cutKey handles the first key of a text whose start was cut off: "sword=…".
func (s *scan) cutKey() {
	end := s.run(0, keyText)
	if end < minCutKey || end > maxKey {
		return
	}
	i := end
	for i < len(s.text) && i < end+8 && strings.IndexByte("\"'\\", s.text[i]) >= 0 {
		i++
	}
	if i >= len(s.text) || s.text[i] != '=' && s.text[i] != ':' {
		return
	}
	words := split(s.text[:end])
	if len(words) == 0 {
		return
	}
	rest := strings.Join(words, "")
	for _, name := range secretNames {
		if strings.HasSuffix(name, rest) && len(rest) >= minCutKey {
			s.value(i+1, value{kind: keyKind(name), colon: s.text[i] == ':'})
			return
		}
	}
}
