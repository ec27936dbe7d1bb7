// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// Answer is what a Reader finds for a person who asks about an object.
type Answer struct {
	Evidence v1alpha1.Evidence
	// Message tells what is missing in the evidence; "" if nothing is.
	Message string
}

// Answer reads the evidence that a person requested about an object. The object may be healthy. related has the same objects as for
// Explain. If the kind of obj has no pods, Answer needs only the kind, namespace, name and uid (see Stub). The caller sets the deadline.
// The error is ErrBusy while the Reader already serves its highest number of calls of Answer.
func (r *Reader) Answer(ctx context.Context, obj *unstructured.Unstructured, related *health.Related, request *v1alpha1.EvidenceRequest) (Answer, error) {
	gk := obj.GroupVersionKind().GroupKind()
	if request.Type == v1alpha1.EvidenceLogs && !health.HasPods(gk) {
		return Answer{Message: fmt.Sprintf("an object of kind %s has no pods, so it has no logs: ask for its events", request.Kind)}, nil
	}
	select {
	case r.answers <- struct{}{}:
		defer func() { <-r.answers }()
	default:
		return Answer{}, ErrBusy
	}
	var owned belongings
	refused := ""
	if health.HasPods(gk) {
		var err error
		owned, err = r.ownedBy(ctx, obj, related.CSV)
		switch {
		case apierrors.IsForbidden(err):
			refused = "the member does not allow the collector to read pods: run `hostctl join` for the member again"
		case err != nil:
			return Answer{}, err
		}
	}
	if request.Type == v1alpha1.EvidenceEvents {
		events, err := r.eventsAbout(ctx, obj, related, &owned, interesting(owned.pods, r.client.Now()))
		if err != nil {
			return Answer{}, err
		}
		return Answer{Evidence: evidence.Answer(events, nil), Message: refused}, nil
	}
	if refused != "" {
		return Answer{Message: refused}, nil
	}
	return r.logsOf(ctx, &owned, request), nil
}

// ownedBy reads the pods of an object. Unlike belongingsOf, it also reads the pods of an operator whose CSV has succeeded: a person may ask
// for the logs of an operator that works.
func (r *Reader) ownedBy(ctx context.Context, obj, csv *unstructured.Unstructured) (belongings, error) {
	if obj.GroupVersionKind().GroupKind() == upgrade.Subscription {
		return r.ofDeployments(ctx, csv, health.AllOperatorDeployments(csv))
	}
	return r.belongingsOf(ctx, obj, csv)
}

// interesting returns the pods whose events an answer has: those in trouble, and then the newest of the others.
func interesting(pods []health.PodObject, now time.Time) []*health.PodObject {
	chosen := health.InTrouble(pods, now)
	var others []*health.PodObject
	for i := range pods {
		if !slices.Contains(chosen, &pods[i]) {
			others = append(others, &pods[i])
		}
	}
	slices.SortStableFunc(others, func(a, b *health.PodObject) int {
		return cmp.Or(b.Metadata.CreationTimestamp.Compare(a.Metadata.CreationTimestamp.Time), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	chosen = append(chosen, others...)
	return chosen[:min(len(chosen), maxTroubledPods)]
}

// logsOf reads the ends of the logs of all containers of an object.
func (r *Reader) logsOf(ctx context.Context, owned *belongings, request *v1alpha1.EvidenceRequest) Answer {
	health.InTrouble(owned.pods, r.client.Now()) // cuts the lists of hostile pods
	pods := make([]*health.PodObject, 0, len(owned.pods))
	for i := range owned.pods {
		pods = append(pods, &owned.pods[i])
	}
	containers, all := evidence.PickAll(pods)
	size, unread := evidence.RawLog(len(containers)), 0
	for i := range containers {
		c := &containers[i]
		text, err := r.client.LogSince(ctx, c.Namespace, c.Pod, c.Name, int(request.SinceSeconds), size)
		if c.Log = text; err != nil {
			unread++
		}
	}
	var missing []string
	switch {
	case len(pods) == 0:
		missing = append(missing, "it has no pods at present")
	case all == 0:
		missing = append(missing, "none of its containers has run")
	case all > len(containers):
		missing = append(missing, fmt.Sprintf("these are %d of its %d containers", len(containers), all))
	}
	if unread > 0 {
		missing = append(missing, fmt.Sprintf("the kubelet did not return the log of %d of %d containers", unread, len(containers)))
	}
	return Answer{Evidence: evidence.Answer(nil, containers), Message: strings.Join(missing, "; ")}
}

// Stub returns an object with the fields that Answer needs if the kind has no pods. So the caller need not read the object.
func Stub(gvk schema.GroupVersionKind, namespace, name string, uid string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind,
		"metadata": map[string]any{"namespace": namespace, "name": name, "uid": uid}}}
}
