// SPDX-License-Identifier: Apache-2.0

package intents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func entry(name string, objects ...string) v1alpha1.DeliverySpec {
	spec := v1alpha1.DeliverySpec{
		Wrapper: v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: name, UID: "uid-of-" + "w", Generation: 3},
		Target:  &v1alpha1.DeliveryTarget{Revision: "rev-1", Rendering: "sha256:1"}, Seal: "sealed",
	}
	for _, o := range objects {
		spec.Inventory = append(spec.Inventory, v1alpha1.InventoryEntry{Kind: "ConfigMap", Resource: "configmaps", Name: o, State: v1alpha1.EntryPending, Rendering: "sha256:" + o})
	}
	return spec
}

func TestAListIsReadAsItWasWritten(t *testing.T) {
	want := []v1alpha1.DeliverySpec{entry("web", "a", "b"), entry("db", "c")}
	text, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	is, err := Decode(text)
	if diff := cmp.Diff(want, is); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestAListThatIsNotUnderstoodAsAWholeIsRefused(t *testing.T) {
	whole, _ := json.Marshal(make([]v1alpha1.DeliverySpec, maxEntries+1))
	for name, test := range map[string]struct{ text, want string }{
		"no JSON":             {"[", "decoding"},
		"a field of tomorrow": {`[{"wrapper":{"kind":"Federated","name":"web","uid":"u","generation":1},"tomorrow":1}]`, "tomorrow"},
		"two values":          {`[] []`, "more than one"},
		"too many entries":    {string(whole), "65 entries"},
		"too long":            {strings.Repeat(" ", maxBytes+1), "limit"},
		"no wrapper":          {`[{"inventory":[]}]`, "entry 0"},
		"another kind":        {`[{"wrapper":{"kind":"Pod","name":"web","uid":"u","generation":1}}]`, "entry 0"},
	} {
		if _, err := Decode(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADeliveryGetsTheObjectsThatItDoesNotList(t *testing.T) {
	of, is := entry("web", "a", "b", "c"), entry("web", "b")
	is.Inventory[0].State, is.Inventory[0].UID = v1alpha1.EntryApplied, "1"
	if diff := cmp.Diff(entry("web", "a", "c").Inventory, unlisted(&of, &is)); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	text, _ := Encode([]v1alpha1.DeliverySpec{entry("web", "a", "b"), entry("db", "c")})
	f.Add(text)
	f.Add(`[{"wrapper":{"kind":"Federated","name":"web","uid":"u","generation":1}}]`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Encode(entries)
		if err != nil {
			t.Fatal(err)
		}
		if is, err := Decode(again); err == nil {
			if diff := cmp.Diff(entries, is); len(entries) > 0 && diff != "" {
				t.Error(diff)
			}
		}
	})
}
