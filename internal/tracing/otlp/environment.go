// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// prefix begins the name of each variable of the exporter. Each exists once for all signals and once for traces, as in
// OTEL_EXPORTER_OTLP_TIMEOUT and OTEL_EXPORTER_OTLP_TRACES_TIMEOUT.
const prefix = "OTEL_EXPORTER_OTLP_"

// value returns the value of a variable without the space around it.
func value(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// wrong returns the error about a variable. It does not have the value, because that may be a credential.
func wrong(name, remedy string) error {
	return fmt.Errorf("environment variable %s: %s", name, remedy)
}

// isOn reports whether the variables ask for an export of traces. The error is about a value that is wrong.
func isOn() (bool, error) {
	switch strings.ToLower(value("OTEL_SDK_DISABLED")) {
	case "true":
		return false, nil
	case "", "false":
	default:
		return false, wrong("OTEL_SDK_DISABLED", "give true or false")
	}
	switch value("OTEL_TRACES_EXPORTER") {
	case "none":
		return false, nil
	case "", "otlp":
	default:
		return false, wrong("OTEL_TRACES_EXPORTER", "give otlp or none; the manager has no other exporter")
	}
	return value(prefix+"ENDPOINT") != "" || value(prefix+"TRACES_ENDPOINT") != "", nil
}

// checks has, for each variable of the exporter, the check of its value. The key is the name after the prefix.
var checks = map[string]func(string) (remedy string){
	"ENDPOINT":    checkEndpoint,
	"PROTOCOL":    checkProtocol,
	"HEADERS":     checkPairs,
	"TIMEOUT":     checkNumber,
	"COMPRESSION": oneOf("gzip", "none"),
	"INSECURE":    oneOf("true", "false"),
	"CERTIFICATE": checkAuthorities,
}

// check returns an error for each variable with a wrong value.
func check() error {
	var all []error
	report := func(name string, check func(string) string) {
		if given := value(name); given != "" {
			if remedy := check(given); remedy != "" {
				all = append(all, wrong(name, remedy))
			}
		}
	}
	for _, signal := range []string{"", "TRACES_"} {
		for name, check := range checks {
			report(prefix+signal+name, check)
		}
		all = append(all, checkClientCertificate(prefix+signal+"CLIENT_CERTIFICATE", prefix+signal+"CLIENT_KEY"))
	}
	for _, name := range []string{"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"} {
		report(name, checkNumber)
	}
	report("OTEL_RESOURCE_ATTRIBUTES", checkPairs)
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return errors.Join(all...)
}

func checkEndpoint(given string) string {
	address, err := url.Parse(given)
	switch {
	case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
		return "give the URL of a collector, for example http://collector.observability:4318"
	case address.User != nil:
		return "the URL must not contain a user or a password; give credentials in " + prefix + "HEADERS"
	}
	return ""
}

func checkProtocol(given string) string {
	if given != "http/protobuf" {
		return "the manager only has OTLP over HTTP: set " + prefix + "PROTOCOL=http/protobuf, and an endpoint for it (most collectors have it at port 4318)"
	}
	return ""
}

func checkPairs(given string) string {
	for _, pair := range strings.Split(given, ",") {
		name, content, found := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(content); err != nil || !found || strings.TrimSpace(name) == "" {
			return "give pairs, as in a=b,c=d; write a comma, an equals sign or a percent sign in a value as %2C, %3D or %25"
		}
	}
	return ""
}

func checkNumber(given string) string {
	if n, err := strconv.Atoi(given); err != nil || n < 1 {
		return "give a whole number, at least 1 (times are in milliseconds)"
	}
	return ""
}

func oneOf(allowed ...string) func(string) string {
	return func(given string) string {
		if slices.Contains(allowed, given) {
			return ""
		}
		return "give " + strings.Join(allowed, " or ")
	}
}

func checkAuthorities(file string) string {
	content, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return "give a file that the manager can read"
	}
	if !x509.NewCertPool().AppendCertsFromPEM(content) {
		return "the file has no certificate in PEM"
	}
	return ""
}

func checkClientCertificate(certificate, key string) error {
	cert, private := value(certificate), value(key)
	switch {
	case cert == "" && private == "":
		return nil
	case cert == "":
		return wrong(certificate, "give it too, because "+key+" is set")
	case private == "":
		return wrong(key, "give it too, because "+certificate+" is set")
	}
	if _, err := tls.LoadX509KeyPair(cert, private); err != nil {
		return wrong(certificate, "the manager cannot load the certificate in this file with the key in the file of "+key+"; both files have to be in PEM")
	}
	return nil
}
