// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// MaxAge is how long a report with a request lasts at most.
const MaxAge = time.Hour

// maxNamed is how many objects of a wrapper a message names.
const maxNamed = 8

// Expires returns when a report with a request ends: at spec.expires, or an hour after its creation if that is earlier.
func Expires(report *v1alpha1.MemberReport) time.Time {
	if last := report.CreationTimestamp.Add(MaxAge); report.Spec.Expires.After(last) {
		return last
	}
	return report.Spec.Expires.Time
}

// Problem is why the manager does not send a request, or why there is no answer. Reason is one of the reasons in conditions.go of the
// API. Message tells the person what to do.
type Problem struct{ Reason, Message string }

func problem(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Identity returns the identity of the wrapper that a report names, in the form that Deliveries have. ok is false if the report is not in
// the namespace where reports about this wrapper have to be.
func Identity(report *v1alpha1.MemberReport) (id v1alpha1.WrapperIdentity, ok bool) {
	w := &report.Spec.Wrapper
	id = v1alpha1.WrapperIdentity{Kind: w.Kind, Name: w.Name, UID: w.UID}
	if w.Kind == v1alpha1.KindFederated {
		id.Namespace = report.Namespace
	}
	return id, id.Beside() == report.Namespace
}

// Check returns why a request must not be sent; nil if it may be sent. w is the wrapper that Identity names; nil if it does not exist on
// the host, or if the report is in a wrong namespace. The messages tell nothing about wrappers in other namespaces.
func Check(report *v1alpha1.MemberReport, w v1alpha1.Wrapper, hasCluster bool) *Problem {
	spec := &report.Spec
	gk := schema.GroupKind{Group: spec.Object.Group, Kind: spec.Object.Kind}
	switch {
	case w == nil && spec.Wrapper.Kind == v1alpha1.KindClusterFederated && report.Namespace != v1alpha1.SystemNamespace:
		return problem(v1alpha1.ReasonWrapperNotFound, "reports about a ClusterFederated have to be in namespace %s", v1alpha1.SystemNamespace)
	case w == nil:
		return problem(v1alpha1.ReasonWrapperNotFound, "this namespace has no %s %s: create the report in the namespace of the wrapper", spec.Wrapper.Kind, spec.Wrapper.Name)
	case w.GetUID() != spec.Wrapper.UID:
		return problem(v1alpha1.ReasonWrapperNotFound, "%s %s has another uid than spec.wrapper.uid: it was deleted and created again; create another report", spec.Wrapper.Kind, spec.Wrapper.Name)
	case gk == schema.GroupKind{Kind: "Secret"}:
		return problem(v1alpha1.ReasonSecretRequested, "collectors read no Secrets: ask about an object that uses Secret %s", spec.Object.Name)
	}
	if listed := Objects(w); !slices.Contains(listed, spec.Object) {
		names := make([]string, 0, len(listed))
		for _, o := range listed {
			names = append(names, Ref(&o))
		}
		return problem(v1alpha1.ReasonObjectNotFound, "the wrapper lists no %s; it lists %s", Ref(&spec.Object), messages.Few(names, maxNamed))
	}
	if placed := w.WrapperStatus().Placement.Clusters; !slices.Contains(placed, spec.Cluster) {
		if !hasCluster {
			return problem(v1alpha1.ReasonClusterNotFound, "the host has no MemberCluster %s; the wrapper is placed on %s", spec.Cluster, few(placed))
		}
		return problem(v1alpha1.ReasonClusterNotPlaced, "the wrapper is not placed on member %s; it is placed on %s", spec.Cluster, few(placed))
	}
	if !hasCluster {
		return problem(v1alpha1.ReasonClusterNotFound, "the host has no MemberCluster %s any more", spec.Cluster)
	}
	return nil
}

func few(members []string) string {
	if len(members) == 0 {
		return "no member"
	}
	return messages.Few(members, maxNamed)
}

// Ref returns the name of an object in messages, for example Deployment/web.
func Ref(o *v1alpha1.ReportedObject) string { return o.Kind + "/" + o.Name }
