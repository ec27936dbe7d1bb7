// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Verdict is the health of one object.
type Verdict struct {
	Health v1alpha1.Health
	// Reason is a short reason for programs, at most 64 bytes. Message is a sentence for people, at most 1024 bytes.
	Reason, Message string
	// Version is the installed version: the CSV of a Subscription, or the bundle of a ClusterExtension. It is empty if
	// no version is completely installed.
	Version string
	// Recheck is after how long the verdict may change with time alone; zero means never.
	Recheck time.Duration
}

// Related has the other objects that the rules of the object's kind use.
type Related struct {
	// CSV is the ClusterServiceVersion that NeededCSV names, and InstallPlan the plan that the Subscription's status
	// refers to; nil if there is none.
	CSV, InstallPlan *unstructured.Unstructured
	// OperatorGroups is the number of OperatorGroups in the Subscription's namespace.
	OperatorGroups int
	// Classes are the member's StorageClasses by name; nil where they are not known.
	Classes map[string]Class
	// Warning is the newest warning event of the object.
	Warning *Warning
}

// Warning is a warning event.
type Warning struct {
	Reason, Message string
	At              time.Time
}

// The kinds with rules of their own.
var (
	kindPod              = schema.GroupKind{Kind: "Pod"}
	kindClaim            = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	kindSubscription     = schema.GroupKind{Group: "operators.coreos.com", Kind: "Subscription"}
	kindCatalogSource    = schema.GroupKind{Group: "operators.coreos.com", Kind: "CatalogSource"}
	kindClusterExtension = schema.GroupKind{Group: "olm.operatorframework.io", Kind: "ClusterExtension"}
)

// Judge returns the health of an object of a kind with progress, at a given time.
func Judge(obj *unstructured.Unstructured, related Related, now time.Time) Verdict {
	var v Verdict
	gk := obj.GroupVersionKind().GroupKind()
	switch {
	case obj.GetDeletionTimestamp() != nil:
		v = Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonTerminating, Message: "it is being deleted"}
		if holders := obj.GetFinalizers(); len(holders) > 0 {
			v.Message = "it is being deleted; finalizer " + holders[0] + " holds it"
		}
	case gk == kindClaim:
		v = judgeClaim(obj, related)
	case gk == kindSubscription:
		v = judgeSubscription(obj, related, now)
	case gk == kindCatalogSource:
		v = judgeCatalogSource(obj)
	case gk == kindClusterExtension:
		v = judgeClusterExtension(obj, now)
	case gk == kindPod:
		v = judgePod(obj, now)
	default:
		v = judgeGeneric(obj, now)
	}
	return withWords(v, related.Warning)
}

// NeedsWarning reports whether the newest warning event of the object could add to the verdict.
func NeedsWarning(v Verdict) bool {
	return v.Health == v1alpha1.Progressing || v.Health == v1alpha1.Degraded
}

// withWords cleans the reason and the message of a verdict, and appends the newest warning.
func withWords(v Verdict, w *Warning) Verdict {
	if v.Health == v1alpha1.Healthy {
		v.Reason, v.Message = "", ""
		return v
	}
	// "Replicas: 0/1" shows the failure; often only an event has the cause.
	if w != nil && !strings.Contains(v.Message, w.Message) {
		if v.Message != "" {
			v.Message += "; "
		}
		v.Message += w.Reason + ": " + w.Message
	}
	v.Reason, v.Message = word(v.Reason), Clean(v.Message, MaxMessage)
	v.Version = Clean(v.Version, 253)
	return v
}

// word cleans a reason and bounds its length.
func word(reason string) string { return Clean(reason, maxReason) }

func healthy() Verdict { return Verdict{Health: v1alpha1.Healthy} }

func progressing(reason, message string) Verdict {
	return Verdict{Health: v1alpha1.Progressing, Reason: reason, Message: message}
}

func waiting(reason, message string) Verdict {
	return Verdict{Health: v1alpha1.Waiting, Reason: reason, Message: message}
}

func degraded(reason, message string) Verdict {
	return Verdict{Health: v1alpha1.Degraded, Reason: reason, Message: message}
}
