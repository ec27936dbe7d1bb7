// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPointWebhooks(t *testing.T) {
	configurations, err := Objects(Webhook)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{}
	for kind, path := range map[string]string{"MutatingWebhookConfiguration": "/mutate-wrappers",
		"ValidatingWebhookConfiguration": "/validate-wrappers"} {
		want[kind] = map[string]any{"url": "https://127.0.0.1:9443" + path, "caBundle": base64.StdEncoding.EncodeToString([]byte("pem"))}
	}
	got := map[string]map[string]any{}
	for _, c := range configurations {
		if err := PointWebhooks(c, "https://127.0.0.1:9443", []byte("pem")); err != nil {
			t.Fatal(err)
		}
		webhooks, _, err := unstructured.NestedSlice(c.Object, "webhooks")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range webhooks {
			webhook := w.(map[string]any)                               //nolint:forcetypeassert // PointWebhooks has found it so
			got[c.GetKind()] = webhook["clientConfig"].(map[string]any) //nolint:forcetypeassert // it has just been set
			if webhook["sideEffects"] != "None" || webhook["failurePolicy"] != "Fail" {
				t.Errorf("%s lost what else it said: %v", c.GetKind(), webhook)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPointWebhooksSaysWhatItCannotRead(t *testing.T) {
	for name, test := range map[string]struct {
		webhooks any
		words    string
	}{
		"no list":   {"all", "webhooks of ValidatingWebhookConfiguration x"},
		"no object": {[]any{"all"}, "webhooks[0] of ValidatingWebhookConfiguration x"},
		"a URL that is none": {[]any{map[string]any{"clientConfig": map[string]any{"url": "https://[::"}}},
			"webhooks[0].clientConfig.url of ValidatingWebhookConfiguration x"},
		"a URL that is no text": {[]any{map[string]any{"clientConfig": map[string]any{"url": int64(1)}}}, "webhooks[0].clientConfig.url of ValidatingWebhookConfiguration x"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &unstructured.Unstructured{Object: map[string]any{"kind": "ValidatingWebhookConfiguration",
				"metadata": map[string]any{"name": "x"}, "webhooks": test.webhooks}}
			if err := PointWebhooks(c, "https://127.0.0.1", nil); err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("got %v", err)
			}
		})
	}
}
