// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The name of the record's ConfigMap, and the keys of its data.
const (
	recordName    = "hostctl-init"
	recordVersion = "version"
	recordValues  = "values.yaml"
)

// record is the version and the values that the last installation stored.
type record struct {
	version string
	values  []byte // in the form in which the user gave them; nil if there is no record
}

func readRecord(ctx context.Context, c client.Reader) (record, error) {
	stored := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: recordName}, stored); err != nil {
		if err = client.IgnoreNotFound(err); err != nil {
			err = forbidden(err, fmt.Sprintf("reading ConfigMap %s/%s", systemNamespace, recordName))
		}
		return record{}, err
	}
	return record{version: stored.Data[recordVersion], values: []byte(stored.Data[recordValues])}, nil
}

// Record returns the ConfigMap with the version and the values of an installation. If another tool will apply the objects,
// hostctl prints the ConfigMap together with them.
func Record(version string, values []byte) *unstructured.Unstructured {
	return record{version: version, values: values}.object()
}

// object returns the record as a ConfigMap.
func (r record) object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": systemNamespace, "name": recordName},
		"data":     map[string]any{recordVersion: r.version, recordValues: string(r.values)},
	}}
}
