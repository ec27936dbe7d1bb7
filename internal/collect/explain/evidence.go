// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

const (
	// maxEventsOf is the largest number of events that the Reader reads about one object, and maxSubjects is the largest number of
	// objects about which it reads events. The API server returns events in the order of their names. So if an object has more events,
	// the newest may be missing.
	maxEventsOf = 250
	maxSubjects = 8
	// maxTroubledPods is how many of an object's pods the evidence shows.
	maxTroubledPods = 3
)

type eventList struct {
	Items []evidence.Event `json:"items"`
}

// gather reads the evidence about an object: the events about it and about what it owns, and its containers that do not run or are not
// ready, with the ends of their logs. known is the evidence that the status has about the same generation, or nil. The result keeps
// the parts of known that the member no longer returns. gather returns nil if it cannot read the events.
func (r *Reader) gather(
	ctx context.Context, obj *unstructured.Unstructured, related *health.Related, owned *belongings, logs *logs, known *v1alpha1.Evidence,
) *v1alpha1.Evidence {
	troubled := health.InTrouble(owned.pods, r.client.Now())
	troubled = troubled[:min(len(troubled), maxTroubledPods)]
	events, err := r.eventsAbout(ctx, obj, related, owned, troubled)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The events about an unhealthy object could not be read; the collector tries again",
			"kind", obj.GetKind(), "namespace", obj.GetNamespace(), "name", obj.GetName(), "error", err.Error())
		return nil
	}
	containers := evidence.Pick(troubled)
	for i := range containers {
		c := &containers[i]
		before := knownLogs(known, c)
		key := logKey{c.Namespace, c.Pod, c.Name, false}
		// If the kubelet no longer returns a log, the log in the status stays. It is a log of the same run: after a restart of the
		// container, knownLogs returns no log.
		c.Log = logs.tailOr(ctx, key, c.HasLog, before.Log)
		key.previous = true
		c.PreviousLog = logs.tailOr(ctx, key, c.HasPreviousLog, before.PreviousLog)
	}
	found := evidence.Merge(known, evidence.Of(events, containers))
	return &found
}

// knownLogs returns the entry about a container from the argument known. The entry is empty if known has no entry about the present run of
// the container.
func knownLogs(known *v1alpha1.Evidence, c *evidence.Container) v1alpha1.ObservedContainer {
	if known != nil {
		for _, k := range known.Containers {
			if k.Pod == c.Pod && k.Name == c.Name && k.Restarts == c.Restarts {
				return k
			}
		}
	}
	return v1alpha1.ObservedContainer{}
}

// eventsAbout reads the events about an object, what it owns, the pods that wait for it, and the claims for which its pods wait. pods are
// those of its pods that the evidence shows.
func (r *Reader) eventsAbout(
	ctx context.Context, obj *unstructured.Unstructured, related *health.Related, owned *belongings, pods []*health.PodObject,
) ([]evidence.Event, error) {
	all, err := r.events(ctx, obj.GetNamespace(), subjects(obj, related, owned, pods, r.consumers(ctx, obj)))
	if err != nil {
		return nil, err
	}
	ofClaims, err := r.events(ctx, obj.GetNamespace(), claims(pods))
	if err != nil {
		return all, nil //nolint:nilerr // what the member has told so far is worth more than nothing
	}
	return append(all, ofClaims...), nil
}

// subjects returns the uids of the objects whose events are evidence about obj, the most important first: obj, what OLM makes of a
// Subscription, pods, the objects between obj and its pods, and the pods that wait for obj.
func subjects(obj *unstructured.Unstructured, related *health.Related, owned *belongings, pods []*health.PodObject, waiting []types.UID) []fields.Selector {
	uids := []types.UID{obj.GetUID()}
	for _, made := range []*unstructured.Unstructured{related.InstallPlan, related.CSV} {
		if made != nil && made.GetNamespace() == obj.GetNamespace() {
			uids = append(uids, made.GetUID())
		}
	}
	for _, p := range pods {
		if p.Metadata.UID != obj.GetUID() {
			uids = append(uids, p.Metadata.UID)
		}
	}
	uids = append(append(uids, owned.between...), waiting...)
	uids = slices.DeleteFunc(uids, func(uid types.UID) bool { return uid == "" }) // it would select all events without a uid
	all := make([]fields.Selector, 0, maxSubjects)
	for _, uid := range uids[:min(len(uids), maxSubjects)] {
		all = append(all, fields.OneTermEqualSelector("involvedObject.uid", string(uid)))
	}
	return all
}

// events reads the events that the selectors select. It returns none if the member does not allow the collector to read events.
func (r *Reader) events(ctx context.Context, namespace string, subjects []fields.Selector) ([]evidence.Event, error) {
	if namespace == "" {
		namespace = metav1.NamespaceDefault // the events of cluster-scoped objects are in this namespace
	}
	var all []evidence.Event
	for _, subject := range subjects {
		var list eventList
		o := metav1.ListOptions{Limit: maxEventsOf, FieldSelector: subject.String()}
		err := r.client.List(ctx, eventsGVR, namespace, o, memberclient.WholeObjects, &list)
		if apierrors.IsForbidden(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items[:min(len(list.Items), maxEventsOf)]...)
	}
	return all, nil
}
