// SPDX-License-Identifier: Apache-2.0

package redact

import "testing"

func TestText(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                             {"", ""},
		"the name of a key stays":             {"password=hunter2 user=bob", "password=[redacted] user=bob"},
		"the next key stays":                  {"password=hunter2,user=bob", "password=[redacted],user=bob"},
		"a query":                             {"?user=bob&token=abc&page=2", "?user=bob&token=[redacted]&page=2"},
		"a key with a colon":                  {"token: abc123 rejected", "token: [redacted] rejected"},
		"JSON":                                {`{"user":"bob","password":"a b\"c","n":1}`, `{"user":"bob","password":"[redacted]","n":1}`},
		"JSON in a string":                    {`"{\"password\":\"x\",\"n\":1}"`, `"{\"password\":\"[redacted]\",\"n\":1}"`},
		"JSON in a string in a string":        {`{\\\"token\\\":\\\"x\\\",\\\"n\\\":1}`, `{\\\"token\\\":\\\"[redacted]\\\",\\\"n\\\":1}`},
		"quotes with spaces":                  {"passwd='a b c' n=1", "passwd='[redacted]' n=1"},
		"quotes without an end":               {"passwd='a b c", "passwd='[redacted]"},
		"a passphrase in YAML":                {"user: bob\npassword: correct horse\nn: 1", "user: bob\npassword: [redacted]\nn: 1"},
		"a block in YAML":                     {"spec:\n  token: |\n    abc\n    def\n  n: 1", "spec:\n  token: |\n  [redacted]\n  n: 1"},
		"a number":                            {"password=1234", "password=[redacted]"},
		"a flag":                              {"run --password hunter2 -v", "run --password [redacted] -v"},
		"a flag in a list":                    {`["--token","abc","-v"]`, `["--token","[redacted]","-v"]`},
		"a variable":                          {"PGPASSWORD=x psql", "PGPASSWORD=[redacted] psql"},
		"a variable in a pod":                 {`{"name":"DB_PASSWORD","value":"x"}`, `{"name":"DB_PASSWORD","value":"[redacted]"}`},
		"a variable in a manifest":            {"- name: DB_PASSWORD\n  value: x\n- name: A\n  value: b", "- name: DB_PASSWORD\n  value: [redacted]\n- name: A\n  value: b"},
		"a variable after another word":       {"sessions ready\n- name: DB_PASSWORD\n  value: 12345678", "sessions ready\n- name: DB_PASSWORD\n  value: [redacted]"},
		"SQL after another word":              {"tokens refreshed\nCREATE USER a IDENTIFIED BY '12345678'", "tokens refreshed\nCREATE USER a IDENTIFIED BY '[redacted]'"},
		"Authorization after another word":    {"secret Authorization: Bearer correct/horse", "secret Authorization: Bearer [redacted]"},
		"a sentence":                          {`the password is "x y"`, `the password is "[redacted]"`},
		"Bearer":                              {"got Bearer xyz from bob", "got Bearer [redacted] from bob"},
		"Authorization keeps the scheme":      {"Authorization: Basic dTpw\nHost: a", "Authorization: Basic [redacted]\nHost: a"},
		"Authorization Digest":                {`Authorization: Digest username="u", response="x"`, "Authorization: Digest [redacted]"},
		"Set-Cookie":                          {"Set-Cookie: sid=x; Path=/; HttpOnly\nDate: y", "Set-Cookie: [redacted]\nDate: y"},
		"a header in quotes":                  {`curl -H "Cookie: a=b; c=d" https://x`, `curl -H "Cookie: [redacted]" https://x`},
		"a URL":                               {"postgres://bob:pw@db:5432/x?a=b failed", "postgres://bob:[redacted]@db:5432/x?a=b failed"},
		"a URL without a user":                {"redis://:pw@cache:6379", "redis://:[redacted]@cache:6379"},
		"a password with an @ and a slash":    {"amqp://bob:p@s/s#w@mq:5672/v", "amqp://bob:[redacted]@mq:5672/v"},
		"a URL without its start":             {"b:pw@db:5432/x failed", "b:[redacted]@db:5432/x failed"},
		"a URL without its end":               {"dialing postgres://bob:pw", "dialing postgres://bob:[redacted]"},
		"a DSN of MySQL":                      {"bob:pw@tcp(db:3306)/x", "bob:[redacted]@tcp(db:3306)/x"},
		"a signed URL":                        {"https://x/o?sv=1&sig=a%2Bb%3D&se=2", "https://x/o?sv=1&sig=[redacted]&se=2"},
		"an account key":                      {"AccountName=a;AccountKey=b==;EndpointSuffix=c", "AccountName=a;AccountKey=[redacted];EndpointSuffix=c"},
		"a format keeps its prefix":           {"ghp_abcd1234efgh is bad", "ghp_[redacted] is bad"},
		"a bootstrap token":                   {"join with abcdef.0123456789abcdef now", "join with [redacted] now"},
		"a PEM block":                         {"x -----BEGIN A KEY-----\nQUJD\n-----END A KEY----- y", "x -----BEGIN A KEY-----[redacted]-----END A KEY----- y"},
		"a PEM block without END":             {"-----BEGIN A KEY-----\nQUJDQUJDQUJDQUJDQUJD\nREVG", "-----BEGIN A KEY-----[redacted]"},
		"a PEM block without BEGIN":           {"REVG\nQUJDQUJDQUJDQUJDQUJD\nREVG\n-----END A KEY-----\ndone", "[redacted]-----END A KEY-----\ndone"},
		"a sentence about a PEM block":        {"expected -----BEGIN CERTIFICATE----- in a.pem", "expected -----BEGIN CERTIFICATE----- in a.pem"},
		"a JWT":                               {"got eyJhbGciOiJub25lIn0.eyJhIjoiYiJ9.c2ln from x", "got [redacted] from x"},
		"a JWT without its start":             {"hbGciOiJub25lIn0.eyJhIjoiYiJ9.c2ln from x", "[redacted] from x"},
		"32 hexadecimal digits":               {"key 0123456789abcdef0123456789abcdef is bad", "key [redacted] is bad"},
		"the ID of a trace":                   {"trace_id=0123456789abcdef0123456789abcdef", "trace_id=0123456789abcdef0123456789abcdef"},
		"a UUID without dashes after its key": {"uuid: 9d6e2f1c0b4a4c1e9f3e2a7b6c5d4e3f", "uuid: 9d6e2f1c0b4a4c1e9f3e2a7b6c5d4e3f"},
		"a cut key":                           {"sword=hunter2 user=bob", "sword=[redacted] user=bob"},
		"invalid UTF-8":                       {"a\xff\xfeb password=\xffx", "a\uFFFDb password=[redacted]"},
		"XML":                                 {"<user>bob</user><password>x</password>", "<user>bob</user><password>[redacted]</password>"},
		"SQL":                                 {"ALTER ROLE bob PASSWORD 'x y' LOGIN", "ALTER ROLE bob PASSWORD '[redacted]' LOGIN"},
		"curl":                                {"curl -u bob:x https://y", "curl -u bob:[redacted] https://y"},
		"a map as Go prints it":               {"map[password:x user:bob]", "map[password:[redacted] user:bob]"},
		"a map as Go prints it, after a key":  {`secrets "db-password": map[password:x user:bob] x`, `secrets "db-password": map[redacted] x`},
		"an empty map":                        {`the token: map[] x`, `the token: map[] x`},
		"a form":                              {"a%3D1%26password%3Dx%26b%3D2", "a%3D1%26password%3D[redacted]%26b%3D2"},
		"a docker config":                     {`{"auths":{"r.io":{"username":"u","auth":"dTpw"}}}`, `{"auths":{"r.io":{"username":"u","auth":"[redacted]"}}}`},
		"an error about a token":              {"verifying token: token is expired", "verifying token: token is expired"},
		"the name of a Secret":                {`secret "web-tls" not found`, `secret "web-tls" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Text(tc.text); got != tc.want {
				t.Errorf("Text(%q)\n got %q\nwant %q", tc.text, got, tc.want)
			}
			checkProperties(t, tc.text)
		})
	}
}

func TestATextWithoutSecretsIsNotCopied(t *testing.T) {
	text := "Back-off restarting failed container web in pod web-5d8f7c9b64-x7k2p_shop"
	if n := testing.AllocsPerRun(100, func() { Text(text) }); n > 1 {
		t.Errorf("Text allocates %v times for a text without secrets", n)
	}
}
