// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// A format is a kind of secret that begins with a fixed text. The prefix stays in the output, so the reader sees the kind.
type format struct {
	prefix string
	body   *charset               // the bytes of the secret after the prefix
	min    int                    // the shortest body, in bytes; short, so that a secret without its end is found too
	only   func(body string) bool // further condition on the body; nil accepts every body
}

// formats lists secrets by their prefix. Sources are the vendors' documentation, and the rules of gitleaks.
var formats = []format{
	{"ghp_", alnum, 4, nil},                         // GitHub personal access token (docs.github.com, "GitHub's token formats")
	{"gho_", alnum, 4, nil},                         // GitHub OAuth token (same source)
	{"ghu_", alnum, 4, nil},                         // GitHub App user token (same source)
	{"ghs_", tokenText, 4, nil},                     // GitHub App installation token (same source)
	{"ghr_", alnum, 4, nil},                         // GitHub App refresh token (same source)
	{"github_pat_", word, 4, nil},                   // GitHub fine-grained token (same source)
	{"glpat-", tokenText, 4, nil},                   // GitLab personal access token (docs.gitlab.com, "Token overview")
	{"gldt-", tokenText, 8, nil},                    // GitLab deploy token (same source)
	{"glrt-", tokenText, 8, nil},                    // GitLab runner token (same source)
	{"glptt-", tokenText, 8, nil},                   // GitLab trigger token (same source)
	{"glcbt-", tokenText, 8, nil},                   // GitLab CI job token (same source)
	{"xoxa-", tokenText, 4, nil},                    // Slack token (docs.slack.dev, "Token types")
	{"xoxb-", tokenText, 4, nil},                    // Slack bot token (same source)
	{"xoxc-", tokenText, 4, nil},                    // Slack client token (same source)
	{"xoxd-", chars("!", "#~"), 4, nil},             // Slack client cookie, percent-encoded (same source)
	{"xoxe-", tokenText, 4, nil},                    // Slack refresh token (same source)
	{"xoxe.", tokenText, 4, nil},                    // Slack configuration token (same source)
	{"xoxo-", tokenText, 4, nil},                    // Slack legacy token (same source)
	{"xoxp-", tokenText, 4, nil},                    // Slack user token (same source)
	{"xoxr-", tokenText, 4, nil},                    // Slack legacy refresh token (same source)
	{"xoxs-", tokenText, 4, nil},                    // Slack legacy workspace token (same source)
	{"xapp-", tokenText, 8, hasDigit},               // Slack app token (same source)
	{"hooks.slack.com/", tokenText, 8, nil},         // Slack webhook: the path is the secret (docs.slack.dev, "Incoming webhooks")
	{"AIza", base64URL, 8, nil},                     // Google API key (cloud.google.com, "API keys")
	{"ya29.", base64URL, 8, nil},                    // Google OAuth access token (gitleaks)
	{"GOCSPX-", base64URL, 4, nil},                  // Google OAuth client secret (gitleaks)
	{"sk_live_", alnum, 4, nil},                     // Stripe secret key (docs.stripe.com, "API keys")
	{"rk_live_", alnum, 4, nil},                     // Stripe restricted key (same source)
	{"sk_test_", alnum, 8, nil},                     // Stripe secret key of the test mode (same source)
	{"rk_test_", alnum, 8, nil},                     // Stripe restricted key of the test mode (same source)
	{"whsec_", base64Any, 8, nil},                   // Stripe webhook secret (same source)
	{"npm_", alnum, 4, notLower},                    // npm access token (docs.npmjs.com); npm_config and the like are plain variables
	{"AKIA", upperNum, 4, hasDigitOrLong},           // AWS access key id (docs.aws.amazon.com, "IAM identifiers")
	{"ASIA", upperNum, 4, hasDigitOrLong},           // AWS temporary access key id (same source)
	{"ABIA", upperNum, 8, hasDigitOrLong},           // AWS bearer token id (same source)
	{"ACCA", upperNum, 8, hasDigitOrLong},           // AWS context credential id (same source)
	{"AGE-SECRET-KEY-", alnum, 1, nil},              // age private key; the body has the version 1 first (github.com/C2SP/C2SP, age.md)
	{"AGE-SECRET-KEY-PQ-", alnum, 1, nil},           // age post-quantum private key (same source)
	{"LS0tLS1CRUdJTi", base64Any, 4, nil},           // a PEM block in base64: "-----BEGIN"
	{"hvs.", base64URL, 8, nil},                     // Vault service token (developer.hashicorp.com, "Tokens")
	{"hvb.", base64URL, 8, nil},                     // Vault batch token (same source)
	{"hvr.", base64URL, 8, nil},                     // Vault recovery token (same source)
	{"sk-", base64URL, 16, random},                  // OpenAI, Anthropic and others (gitleaks)
	{"SG.", tokenText, 16, random},                  // SendGrid (gitleaks)
	{"dckr_pat_", base64URL, 4, nil},                // Docker Hub (docs.docker.com, "Personal access tokens")
	{"dckr_oat_", base64URL, 4, nil},                // Docker Hub organization token (same source)
	{"pypi-", base64URL, 16, random},                // PyPI (pypi.org/help)
	{"dop_v1_", alnum, 8, nil},                      // DigitalOcean (docs.digitalocean.com)
	{"hf_", alnum, 16, random},                      // Hugging Face (gitleaks)
	{"sha256~", base64URL, 8, nil},                  // OpenShift OAuth token (docs.openshift.com); a digest has a colon
	{"dapi", alnum, 32, nil},                        // Databricks (gitleaks)
	{"shpat_", alnum, 8, nil},                       // Shopify (gitleaks)
	{"shpss_", alnum, 8, nil},                       // Shopify shared secret (gitleaks)
	{"glsa_", word, 8, nil},                         // Grafana service account (gitleaks)
	{"glc_", base64Any, 8, nil},                     // Grafana Cloud (gitleaks)
	{"lin_api_", alnum, 8, nil},                     // Linear (gitleaks)
	{"ATATT3", base64Any, 8, nil},                   // Atlassian (gitleaks)
	{"PMAK-", base64URL, 8, nil},                    // Postman (gitleaks)
	{"NRAK-", upperNum, 8, nil},                     // New Relic (gitleaks)
	{"LTAI", alnum, 12, hasDigit},                   // Alibaba access key id (gitleaks)
	{"atlasv1.", base64URL, 8, nil},                 // Terraform Cloud (gitleaks)
	{"EAACEdEose0cBA", alnum, 4, nil},               // Facebook (gitleaks)
	{"SharedAccessSignature ", chars("!~"), 8, nil}, // Azure Service Bus header (learn.microsoft.com, "Shared Access Signature")
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func hasDigitOrLong(s string) bool { return hasDigit(s) || len(s) >= 12 }

func notLower(s string) bool {
	return strings.ContainsAny(s, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

// secretNames are parts of a key's name, without separators and in lower case, that make its value a secret.
var secretNames = []string{
	"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential", "cookie", "session", "signature",
	"authorization", "connectionstring", "connstr", "stringdata", "dockerconfigjson",
	"apikey", "accesskey", "privatekey", "signingkey", "encryptionkey", "encryptkey", "cryptkey", "accountkey", "masterkey", "sharedkey",
	"subscriptionkey", "licensekey", "authkey", "storagekey", "hmackey", "aeskey", "rsakey", "sshkey", "tlskey", "deploykey", "appkey",
}

// secretWords are whole words of a key's name that make its value a secret. They are too short to be looked for inside of words.
var secretWords = []string{"auth", "oauth", "pass", "pw", "cred", "creds", "sid", "jwt", "otp", "totp", "sig", "hmac", "bearer", "userpass", "dbpass", "nonce", "cnonce"}

// keyQualifiers are the words before a separate "key" that make its value a secret ("api key: …").
var keyQualifiers = []string{"api", "access", "private", "secret", "signing", "encryption", "account", "master", "shared", "subscription", "auth", "ssh"}

// plainEndings are last words of a key's name that make it a property of a secret ("token_type"), a program ("auth-service"), an
// error ("TokenExpiredError"), a file or a host. Their values stay.
var plainEndings = strings.Fields(`
	name names ref refs file files path paths dir directory url uri urls endpoint endpoints host hostname port user username users
	type kind mode method methods level provider providers driver source class format algorithm alg algo protocol backend realm version
	count length len size bytes total index position line column num number limit max min age
	ttl timeout expiry expires expiration expire duration lifetime validity seconds minutes hours ms interval period time at
	enabled disabled required optional valid invalid allowed supported status state affinity policy rule rules scope scopes issuer audience
	exception error errors err failed failure found match mismatch expired missing denied warning reason message rotated
	java go py js ts kt scala rb rs cs cpp cc c h class jar yaml yml json toml conf log html
	service server proxy manager controller operator gateway store handler plugin agent pod worker webhook exporter service-account
	namespace label selector volume mount request requests response review reviewer config configuration settings template cache
	io com org net local svc internal cluster region zone bucket issuer owner group role prefix suffix separator field column header-name
	affinity driver context factory filter interceptor middleware module package verifier validator parser utils impl test tests`)

// nothing lists, in lower case, values of a secret's key that are no secrets: switches (on, off), and texts for no value or a hidden one.
var nothing = strings.Fields(`true false null nil none undefined yes no on off <nil> <none> <null> <unset> <empty> (none) (null) (nil) (empty) [] {} map[] n/a
	redacted <redacted> (redacted) [filtered] <hidden> <masked> <secret> masked hidden omitted <sensitive> (sensitive`)

// prose are words that follow "token: " or "password is " in a sentence, in lower case.
var prose = strings.Fields(`
	a an the this that these it its is are was were be been has have had does did do not no must should may might can cannot can't could couldn't
	would will won't doesn't isn't wasn't didn't for from to in on at of with without by as and or but if when while because too only already still
	open dial read write get post put delete head patch stat lstat mkdir exec lookup fork failed failure failing fail error errors unable invalid unexpected unknown
	unsupported unauthorized unauthenticated forbidden expired missing malformed required wrong incorrect bad empty blank unset nil set mandatory
	rejected revoked denied refused closed timeout timed context connection connect eof permission access operation request requests response server
	client service user no-such http https rpc x509 tls ssl ssh oidc oauth2 jwt jose jws jwk rsa ecdsa ed25519 json yaml xml asn1 base64 hex illegal pq grpc etcd
	crypto/rsa crypto/ecdsa crypto/x509 net/http encoding/hex encoding/json go-jose/go-jose square/go-jose compact key keys value file
	parse parsing parsed decode decoding loading getting fetching creating reading writing verifying validating verification validation using
	signature signed got expected received provided given found exists serviceaccounts serviceaccount secret secrets tokens sessions disabled enabled checking check verify
	refresh refreshing refreshed
	rotating rotated renewed renewing renew valid ok okay success successful successfully started starting stopped stopping created
	updated deleted ended ending established terminated lost active inactive idle initialized ready done pending skipped skipping ignored ignoring
	retrying retry waiting loaded accepted used being stored correct weak short long needed available unavailable changed change different
	flag option argument parameter one all some any more none code exit line column illegal`)

// passwordProse replaces prose after the key of a password. It has only words with which no passphrase begins.
var passwordProse = strings.Fields(`is was are were be must should may cannot can't could couldn't does doesn't has have did didn't not no
	failed failure error errors unable invalid unexpected unknown unsupported unauthorized forbidden expired missing malformed required wrong incorrect
	rejected denied refused authentication validation verification too authenticate dial rpc x509 tls pq http https`)

// digestContext are names before a hexadecimal number that tell that the number is an identifier: a commit, a digest or the ID of a
// container, image, trace or request.
var digestContext = strings.Fields(`
	sha sha1 sha224 sha256 sha384 sha512 md5 crc digest digests checksum checksums etag hash commit commits revision rev git gitcommit sha1sum
	githash gitsha head tree ref refs branch tag merge checkout build buildid build-id vcs.revision at
	container containers containerid containerd docker cri-o crio cri-containerd crio sandbox sandboxid image imageid layer layers snapshot snapshots overlay overlay2 blobs podman
	trace traceid trace_id trace-id traceparent span spanid span_id span-id requestid request_id request-id req_id correlationid correlation_id correlation-id
	x-request-id x-correlation-id x-amzn-requestid uid uuid guid machineid machine-id bootid boot_id objectid thumbprint fingerprint serial`)
