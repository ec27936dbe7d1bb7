// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/base64"
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// PointWebhooks makes the API server call every webhook of a configuration at a new URL. The URL is the argument base, followed by the
// path in the webhook's present Service or URL. ca is the PEM bundle with which the API server verifies the server at that URL.
func PointWebhooks(configuration *unstructured.Unstructured, base string, ca []byte) error {
	return point(configuration, func(path string) map[string]any {
		return map[string]any{"url": base + path, "caBundle": base64.StdEncoding.EncodeToString(ca)}
	})
}

// PointWebhooksAtService makes the API server call every webhook of a configuration at port 443 of a Service, under the
// path that the webhook has now.
func PointWebhooksAtService(configuration *unstructured.Unstructured, namespace, name string) error {
	return point(configuration, func(path string) map[string]any {
		return map[string]any{"service": map[string]any{"namespace": namespace, "name": name, "path": path, "port": int64(443)}}
	})
}

// point replaces the field clientConfig of every webhook in a configuration by the result of the function clientConfig. The function
// gets the path in the webhook's present Service or URL.
func point(configuration *unstructured.Unstructured, clientConfig func(path string) map[string]any) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("reading the field webhooks of %s %s: %w", configuration.GetKind(), configuration.GetName(), err)
	}
	for i := range webhooks {
		webhook, ok := webhooks[i].(map[string]any)
		if !ok {
			return fmt.Errorf("reading webhooks[%d] of %s %s: it is not an object", i, configuration.GetKind(), configuration.GetName())
		}
		path, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if path == "" {
			written, _, err := unstructured.NestedString(webhook, "clientConfig", "url")
			if err != nil {
				return fmt.Errorf("reading webhooks[%d].clientConfig.url of %s %s: %w", i, configuration.GetKind(), configuration.GetName(), err)
			}
			at, err := url.Parse(written)
			if err != nil {
				return fmt.Errorf("reading webhooks[%d].clientConfig.url of %s %s: %w", i, configuration.GetKind(), configuration.GetName(), err)
			}
			path = at.Path
		}
		webhook["clientConfig"] = clientConfig(path)
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}
