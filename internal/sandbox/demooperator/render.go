// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// These are the reasons of the condition Ready of a Greeting.
const (
	// ReasonWritten surfaces when the ConfigMap matches the Greeting.
	ReasonWritten = "Written"
	// ReasonNameTaken surfaces when a ConfigMap with the name exists and belongs to another owner.
	ReasonNameTaken = "NameTaken"
	// ReasonWriteRefused surfaces when the API server refused the ConfigMap. The message has the server's error.
	ReasonWriteRefused = "WriteRefused"
)

// greetingLabel is on every ConfigMap that the operator writes. The operator's informer selects by this label, so it gets no
// other ConfigMaps.
const greetingLabel = "demo.fairlead.dev/greeting"

// versionLabel is a label of a ConfigMap with the version that wrote it.
const versionLabel = "app.kubernetes.io/version"

// configMapName is the name of a Greeting's ConfigMap.
func configMapName(g *Greeting) string { return g.Name + "-messages" }

// configMap returns the ConfigMap of a Greeting as this release writes it. Keys of recipients have a prefix: without one, a recipient named "summary" would
// collide with the key summary.
func (r release) configMap(g *Greeting) *unstructured.Unstructured {
	data := map[string]any{"operator-version": r.version}
	for _, recipient := range g.Spec.Recipients {
		data["to-"+recipient] = g.Spec.Message + ", " + recipient
	}
	if r.summary {
		data["summary"] = fmt.Sprintf("%q for %s", g.Spec.Message, recipients(len(g.Spec.Recipients)))
	}
	labels := map[string]any{greetingLabel: labelValue(g)}
	if r.label {
		labels[versionLabel] = r.version
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"name":      configMapName(g),
			"namespace": g.Namespace,
			"labels":    labels,
			"ownerReferences": []any{map[string]any{
				"apiVersion": GroupVersion.String(), "kind": Kind, "name": g.Name, "uid": string(g.UID), "controller": true,
			}},
		},
		"data": data,
	}}
}

// labelValue returns the Greeting's UID. A name can be too long for a label's value.
func labelValue(g *Greeting) string { return string(g.UID) }

func recipients(n int) string {
	if n == 1 {
		return "1 recipient"
	}
	return fmt.Sprintf("%d recipients", n)
}

// writeResult is the reason and the message of the condition Ready after an attempt to write the ConfigMap.
type writeResult struct {
	reason  string
	message string
}

func written(g *Greeting) writeResult {
	return writeResult{ReasonWritten, fmt.Sprintf("ConfigMap %s has messages for %s", configMapName(g), recipients(len(g.Spec.Recipients)))}
}

func nameTaken(g *Greeting) writeResult {
	const message = "ConfigMap %s belongs to another owner: delete or rename it, or give this Greeting another name"
	return writeResult{ReasonNameTaken, fmt.Sprintf(message, configMapName(g))}
}

func writeRefused(err error) writeResult { return writeResult{ReasonWriteRefused, err.Error()} }

// status returns the status of a Greeting for a result. lastTransitionTime changes only if the condition's status changes, so writing the same result
// again changes nothing.
func status(g *Greeting, o writeResult, now metav1.Time) *unstructured.Unstructured {
	ready := metav1.ConditionFalse
	if o.reason == ReasonWritten {
		ready = metav1.ConditionTrue
	}
	since := now
	for _, c := range g.Status.Conditions {
		if c.Type == "Ready" && c.Status == ready {
			since = c.LastTransitionTime
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": GroupVersion.String(),
		"kind":       Kind,
		"metadata":   map[string]any{"name": g.Name, "namespace": g.Namespace},
		"status": map[string]any{
			"observedGeneration": g.Generation,
			"configMap":          configMapName(g),
			"conditions": []any{map[string]any{
				"type": "Ready", "status": string(ready), "reason": o.reason, "message": o.message,
				"observedGeneration": g.Generation, "lastTransitionTime": since.UTC().Format("2006-01-02T15:04:05Z"),
			}},
		},
	}}
}
