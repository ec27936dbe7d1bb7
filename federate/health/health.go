// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// Verdict is the health of one object, with its reason.
type Verdict struct {
	Health v1alpha1.Health
	// Reason is a short reason for programs, at most 64 bytes; "" for a healthy object that is not deprecated.
	// Message is a sentence for people, at most 1024 bytes; "" for a healthy object that is not deprecated.
	Reason, Message string
	// Version is the installed version: the CSV of a Subscription, or the version of a ClusterExtension's bundle. It is
	// empty if no version is completely installed.
	Version string
	// Target is the target of a Subscription that spec.upgrade names; "" for any other object.
	// Offered is the CSV that OLM would install next for a Subscription with a target, or is installing; "" if there is none.
	Target, Offered string
	// Recheck is the time after which this verdict may change although no object changes; zero means never.
	Recheck time.Duration
}

// Related has the other objects that the rules for the object's kind use.
type Related struct {
	// CSV is the ClusterServiceVersion that the function NeededCSV names; nil if it does not exist.
	// InstallPlan is the plan that the Subscription's status names; nil if it does not exist.
	CSV, InstallPlan *unstructured.Unstructured
	// OperatorGroups is the number of OperatorGroups in the Subscription's namespace.
	OperatorGroups int
	// Classes are the member's StorageClasses by name; nil if the caller could not read them.
	Classes map[string]Class
	// Warning is the newest Warning event about the object; nil if there is none.
	Warning *Warning
	// Explanation is why the object's pods do not become ready; nil if no pod has such a cause, or if the caller has not read the pods.
	Explanation *Explanation
	// PodsRefused is true if the member does not allow the caller to read the object's pods.
	PodsRefused bool
}

// Warning is the content of a Warning event.
type Warning struct {
	Reason, Message string
	At              time.Time
}

// The kinds that this package judges by rules of their own.
var (
	kindPod              = schema.GroupKind{Kind: "Pod"}
	kindClaim            = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	kindCatalogSource    = schema.GroupKind{Group: "operators.coreos.com", Kind: "CatalogSource"}
	kindClusterExtension = schema.GroupKind{Group: "olm.operatorframework.io", Kind: "ClusterExtension"}
)

// Judge returns the health of an object at the time now. The object is of a kind for which HasProgress is true.
func Judge(obj *unstructured.Unstructured, related Related, now time.Time) Verdict {
	var v Verdict
	gk := obj.GroupVersionKind().GroupKind()
	switch {
	case obj.GetDeletionTimestamp() != nil:
		v = Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonTerminating, Message: "it is being deleted"}
		if holders := obj.GetFinalizers(); len(holders) > 0 {
			v.Message = "it is being deleted, and waits for finalizer " + holders[0]
		}
	case gk == kindClaim:
		v = judgeClaim(obj, related)
	case gk == upgrade.Subscription:
		v = judgeSubscription(obj, related, now)
		v.Target = upgrade.TargetOf(obj)
		v.Offered = offeredBy(obj, v.Version)
	case gk == kindCatalogSource:
		v = judgeCatalogSource(obj)
	case gk == kindClusterExtension:
		v = judgeClusterExtension(obj, now)
	case gk == kindPod:
		v = judgePod(obj, now)
	default:
		v = judgeGeneric(obj, now)
	}
	return withWords(explained(obj, v, &related), related.Warning)
}

// NeedsWarning reports whether the newest Warning event of the object may add information to the verdict. If so, the
// caller reads the event and passes it in as Related.Warning.
func NeedsWarning(v Verdict) bool {
	return v.Health == v1alpha1.Progressing || v.Health == v1alpha1.Degraded
}

// withWords redacts and cleans the reason and the message of a verdict, and appends the newest Warning event to the message.
func withWords(v Verdict, w *Warning) Verdict {
	v.Version, v.Target, v.Offered = Clean(v.Version, maxVersion), Clean(v.Target, maxVersion), Clean(v.Offered, maxVersion)
	// "Replicas: 0/1" shows the failure; often only an event has the cause.
	if w != nil && v.Health != v1alpha1.Healthy && !strings.Contains(v.Message, w.Message) {
		if v.Message != "" {
			v.Message += "; "
		}
		v.Message += w.Reason + ": " + w.Message
	}
	v.Reason, v.Message = word(v.Reason), Tidy(v.Message, MaxMessage)
	return v
}

// word cleans a reason that comes from the member, and bounds its length.
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
