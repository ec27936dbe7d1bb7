// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// The text in a member's report is not trusted. Whatever the text is, the line must fit the host's schema and be safe
// to print on a terminal.
func FuzzLine(f *testing.F) {
	f.Add("rev\x1b[2J", []byte(`{"observedRendering":"r","version":"v1.0.0","objects":[{"kind":"ConfigMap","name":"a","health":"Degraded","reason":"R","message":"m"}]}`))
	f.Add("", []byte(`{"objects":[{"kind":"A\u001b]0;x","name":"\u202e","drift":{"kind":"Changed","manager":"\u0000","fields":["."]}}]}`))
	f.Add("r", []byte(`{"version":"`+string(make([]byte, 1000))+`"}`))
	f.Fuzz(func(t *testing.T, revision string, raw []byte) {
		status := v1alpha1.DeliveryStatus{}
		if json.Unmarshal(raw, &status) != nil {
			return
		}
		for _, held := range []bool{true, false} {
			m := Member{Name: "east", Revision: "rev", HeldRevision: revision, Held: held, Rendering: "r", Status: &status, RepairsDrift: held,
				Reachability: Reachability{Known: true, Usable: true}}
			line := Line(&m, nil, time.Unix(0, 0))
			for field, text := range map[string]struct {
				is  string
				max int
			}{"message": {line.Message, MaxMessage}, "reason": {line.Reason, maxReason}, "version": {line.Version, maxName}, "revision": {line.Revision, maxName}} {
				if len(text.is) > text.max || !utf8.ValidString(text.is) {
					t.Fatalf("%s has %d bytes: %q", field, len(text.is), text.is)
				}
				for _, r := range text.is {
					if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
						t.Fatalf("%s is not fit for a terminal: %q", field, text.is)
					}
				}
			}
			if line.State == "" {
				t.Fatal("no state")
			}
		}
	})
}
