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
	for name, path := range map[string]string{"mutate-wrappers": "/mutate-wrappers", "mutate-updated-wrappers": "/mutate-wrappers",
		"validate-wrappers": "/validate-wrappers"} {
		want[name+".federation.fairlead.dev"] = map[string]any{"url": "https://127.0.0.1:9443" + path, "caBundle": base64.StdEncoding.EncodeToString([]byte("pem"))}
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
			webhook := w.(map[string]any)                        //nolint:forcetypeassert // PointWebhooks has checked this type
			name := webhook["name"].(string)                     //nolint:forcetypeassert // it is a string in the file
			got[name] = webhook["clientConfig"].(map[string]any) //nolint:forcetypeassert // PointWebhooks has just set it
			// While no replica of the manager serves the webhooks, the API server must refuse an edit that was not validated.
			// The webhook mutate-updated-wrappers only names the author of an edit, so it must not be a reason to refuse the
			// edit.
			policy := "Fail"
			if strings.HasPrefix(name, "mutate-updated") {
				policy = "Ignore"
			}
			if webhook["sideEffects"] != "None" || webhook["failurePolicy"] != policy {
				t.Errorf("%s lost its other fields: %v", name, webhook)
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
		"webhooks is not a list":     {"all", "webhooks of ValidatingWebhookConfiguration x"},
		"a webhook is not an object": {[]any{"all"}, "webhooks[0] of ValidatingWebhookConfiguration x"},
		"a URL that cannot be parsed": {[]any{map[string]any{"clientConfig": map[string]any{"url": "https://[::"}}},
			"webhooks[0].clientConfig.url of ValidatingWebhookConfiguration x"},
		"a URL that is not a string": {[]any{map[string]any{"clientConfig": map[string]any{"url": int64(1)}}}, "webhooks[0].clientConfig.url of ValidatingWebhookConfiguration x"},
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
