// SPDX-License-Identifier: Apache-2.0

// Package redact replaces secrets in texts that come from a member: lines of a log, termination messages, messages of events.
// The collector applies it before such a text gets into a status, because everybody who may read the wrapper reads the status.
//
// Words. A *key* is the name before a value. A *format* is a kind of secret that begins with a fixed text ("ghp_"). The *mark* is
// "[redacted]", which stands in place of a secret. An *edge* is the first or the last word of a text.
//
// Text finds
//   - the values of keys whose names tell of a secret (patterns.go: secretNames, secretWords), in the notations of shells, JSON, YAML,
//     XML, Go, Python, queries, flags, and JSON as a string inside of JSON; the key stays;
//   - Authorization, Cookie and Set-Cookie, and tokens after Bearer, Basic and Digest without the header's name;
//   - passwords in URLs and in DSNs;
//   - PEM blocks, JWTs, Kubernetes bootstrap tokens, and the formats in patterns.go;
//   - 40 or more letters of base64 that look random, and 32 or more hexadecimal digits.
//
// Text leaves alone what names a secret without holding it: a Secret object, an environment variable (${DB_PASSWORD}), a file
// (/run/secrets/token), null, a mask (****), and the next word of a sentence ("token: failed to verify").
//
// Long hexadecimal numbers are ambiguous: a UUID without dashes, a trace ID and an MD5 sum have 32 digits, like the API keys of many
// vendors, and a commit has 40, like old tokens of GitHub. Such a number stays only if the word before it tells what it is: "sha256:",
// "commit ", "trace_id=", "uid: ", "containerd://", an @. Without such a word Text redacts the number, because a lost trace ID costs
// the on-call a look into the member's log, and a leaked key costs a rotation.
//
// # Texts that were cut
//
// A byte limit may cut a text in the middle of a secret. If it cuts the end, Text finds the rest of the secret by its key or its
// format, however short the rest of a keyed value is. Of a format it finds a rest of at least 4 bytes after the prefix (8 or more for
// many formats); patterns.go has the number for each. It finds the rest of a password in a URL if that rest has more than digits:
// digits alone may be a port.
//
// If the limit cuts the start, Text finds
//   - a keyed value, if at least three letters of the name of the key are left ("ord=…" of password);
//   - a password in a URL, if the @ is left, and a port or a path is after the host;
//   - a PEM block, by its END, or by each of its lines of 40 bytes or more and the lines beside them;
//   - any other rest of at least 20 bytes that looks random. Of 12 to 19 random bytes it finds about four in five.
//
// It does not find the rest of a secret that has lost its key and has fewer than 12 bytes, or looks like words or a number.
// So the caller should drop the first line of a text whose start was cut.
//
// Text also does not find a secret that looks like nothing: a password in a sentence without a separator ("password hunter2"), the
// second and later words of a value without quotes ("pw=correct horse", unless "password:" begins its line), the second and later
// lines of a value in quotes, a value on the line after its key, a value without quotes after a comma, "&" or ";" that looks like the next key ("pw=a,b=c"), and
// a secret that is encoded again, except base64 of JSON, of PEM and of 30 or more bytes.
//
// # Why it is so
//
// The package has its own table instead of a scanner such as gitleaks. A scanner looks for keys in source code: it wants few false
// alarms, so it wants whole secrets of known lengths and takes no cut ones. It does not look for passwords that people choose. It
// brings dependencies (a configuration language, a git client, a WebAssembly engine) that the collector would run with on every
// member.
//
// Each kind of secret has functions of its own. They take the text and append the secrets that they find, and read nothing else.
// Only the search for random text has to know what the others have found, so it comes last.
//
// Each rule reads the text from left to right and looks back and ahead only a fixed number of bytes, or past what it has matched.
// So the time is linear. Text repeats the rules until nothing changes, because a mark can bring two parts of a text together.
// That makes it idempotent: its result is a text in which the rules find nothing.
package redact
