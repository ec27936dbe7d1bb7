// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// appendKeyedValues finds values by the names of their keys: key=value, key: value, "key":"value", --key value, <key>value</key>.
func appendKeyedValues(found []span, text string) []span {
	found = add(found, text, valueOfCutKey(text))
	for i := 0; i < len(text); {
		secret, end := keyedValue(text, i)
		found = add(found, text, secret)
		i = max(end, i+1)
	}
	return found
}

// keyedValue reads the value whose separator or flag begins at the byte i. It returns the end of the value, and the value itself
// if that is a secret. If no value belongs to the byte i, the end is 0.
func keyedValue(text string, i int) (secret span, end int) {
	switch text[i] {
	case '=', ':':
		return afterSign(text, i)
	case '%': // = and : in a query or a form
		if hasAt(text, i, "%3d") || hasAt(text, i, "%3a") {
			keyEnd := i
			if hasAt(text, keyEnd-3, "%22") {
				keyEnd -= 3
			}
			if _, k := keyBefore(text, keyEnd); k != noSecret {
				return encodedValue(text, i+3)
			}
		}
	case '>': // XML
		if from, k := keyBefore(text, i); k != noSecret && from > 0 && text[from-1] == '<' {
			to := i + 1
			for to < len(text) && text[to] != '<' {
				to++
			}
			return span{i + 1, to}, to
		}
	case ' ':
		return afterVerb(text, i)
	case '-':
		return afterFlag(text, i)
	case 'I', 'i':
		if words := "identified by "; hasAt(text, i, words) { // SQL: CREATE USER
			return readValue(text, i+len(words), value{kind: ordinary, key: noKey, quotedOnly: true})
		}
	}
	return span{}, 0
}

// afterSign is keyedValue for "=", ":", ":=", "=>" or "==" at i.
func afterSign(text string, i int) (secret span, end int) {
	to := i + 1
	for to < len(text) && to < i+3 && strings.IndexByte("=>:", text[to]) >= 0 {
		to++
	}
	// "a::b" is a path of Rust or C++.
	if text[i] == ':' && to > i+1 && text[i+1] == ':' {
		return span{}, to
	}
	// "a != b" compares.
	if i > 0 && text[i-1] == '!' {
		return span{}, to
	}
	// YAML may have "key: >" before a block.
	if text[i] == ':' && to > i+1 && text[i+1] == '>' {
		to = i + 1
	}
	from, k := keyBefore(text, i)
	if k == noSecret {
		if k = environment(text, i); k == noSecret {
			return span{}, 0
		}
		return readValue(text, to, value{kind: ordinary, key: noKey})
	}
	v := value{kind: k, key: from, colon: text[i] == ':'}
	// Errors of Go's package oauth2 begin with its name.
	if v.colon && strings.EqualFold(text[from:i], "oauth2") {
		return span{}, to
	}
	if v.colon && plainAfterColon(text, from, i, to) {
		return span{}, to
	}
	return readValue(text, to, v)
}

// plainAfterColon reports whether "key:" is no key but a host, an image or a file: auth:8080, shop/auth:v1.2, token.go:42.
func plainAfterColon(text string, from, colon, to int) bool {
	if to >= len(text) || !alnum[text[to]] || text[colon-1] == '"' {
		return false
	}
	end := keyText.end(text, to)
	after := strings.TrimRight(text[to:end], ".-")
	name := strings.ToLower(text[from:colon])
	if from > 0 && text[from-1] == '/' && (end == len(text) || !tokenText[text[end]]) && !random(after) && len(after) <= 40 {
		return true // an image, or a URL with a port
	}
	host := strings.ContainsAny(name, "-.") || name == "auth" || name == "oauth" || strings.HasPrefix(name, "session")
	version := strings.TrimPrefix(after, "v")
	return host && strings.Trim(version, "0123456789.") == "" && len(version) <= 12 && (len(version) <= 5 || strings.Contains(version, "."))
}

// afterVerb is keyedValue for "password is …" and a password in quotes after the word: PASSWORD 'x'.
func afterVerb(text string, i int) (secret span, end int) {
	for _, verb := range []string{" is ", " was ", " is: ", " set to "} {
		if !hasAt(text, i, verb) {
			continue
		}
		if from, k := keyBefore(text, i); k != noSecret {
			return readValue(text, i+len(verb), value{kind: ordinary, key: from, sentence: true, password: k == password})
		}
	}
	if i+1 < len(text) && (text[i+1] == '\'' || text[i+1] == '"') {
		if from, k := keyBefore(text, i); k == password {
			return readValue(text, i+1, value{kind: ordinary, key: from, quotedOnly: true})
		}
	}
	return span{}, 0
}

// afterFlag is keyedValue for "--token value", "-password value" and the same in a list of quoted arguments. It also reads curl's
// "-u user:password".
func afterFlag(text string, i int) (secret span, end int) {
	if i > 0 && strings.IndexByte(" \t\n\"'`[(,=", text[i-1]) < 0 {
		return span{}, 0
	}
	nameEnd := keyText.end(text, i)
	name := strings.TrimLeft(text[i:min(nameEnd, i+maxKey)], "-")
	next := nameEnd
	for next < len(text) && next < nameEnd+12 && strings.IndexByte(" \t\n\"',\\", text[next]) >= 0 {
		next++
	}
	if next == nameEnd || next >= len(text) || text[next] == '-' {
		return span{}, 0
	}
	if name == "u" || name == "user" || name == "proxy-user" {
		to := tokenEnd(text, next)
		if colon := strings.IndexByte(text[next:to], ':'); colon > 0 && colon+1 < to-next && !strings.Contains(text[next:to], "//") {
			return span{next + colon + 1, to}, to
		}
		return span{}, 0
	}
	if keyKind(name) == noSecret {
		return span{}, 0
	}
	// readValue has to see the quote before the value, so that the value ends at the closing quote.
	for next > nameEnd && strings.IndexByte("\"'\\", text[next-1]) >= 0 {
		next--
	}
	if next == nameEnd {
		return span{}, 0
	}
	return readValue(text, next, value{kind: ordinary, key: i, sentence: true, password: true})
}

// valueOfCutKey returns the value of the first key of a text whose start was cut off: "sword=…".
func valueOfCutKey(text string) span {
	end := keyText.end(text, 0)
	if end < minCutKey || end > maxKey {
		return span{}
	}
	i := end
	for i < len(text) && i < end+8 && strings.IndexByte("\"'\\", text[i]) >= 0 {
		i++
	}
	if i >= len(text) || text[i] != '=' && text[i] != ':' {
		return span{}
	}
	words := split(text[:end])
	if len(words) == 0 {
		return span{}
	}
	rest := strings.Join(words, "")
	for _, name := range secretNames {
		if strings.HasSuffix(name, rest) && len(rest) >= minCutKey {
			secret, _ := readValue(text, i+1, value{kind: keyKind(name), colon: text[i] == ':'})
			return secret
		}
	}
	return span{}
}
