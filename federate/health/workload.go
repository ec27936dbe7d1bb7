// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// The kinds whose pods explain their health.
var (
	kindDeployment  = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	kindReplicaSet  = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	kindStatefulSet = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	kindDaemonSet   = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	kindJob         = schema.GroupKind{Group: "batch", Kind: "Job"}
)

// annotationRevision, on a Deployment and its ReplicaSets, tells which ReplicaSet has the Deployment's present pods.
const annotationRevision = "deployment.kubernetes.io/revision"

// maxOperatorDeployments is the greatest number of Deployments of one CSV that the function OperatorDeployments
// returns.
const maxOperatorDeployments = 8

// createMemory is the time for which an event about pods that could not be created counts. Controllers try again after 1000 s at
// the latest (k8s.io/client-go/util/workqueue, DefaultTypedControllerRateLimiter), and then write the event again.
const createMemory = 20 * time.Minute

// HasPods reports whether the pods of objects of a kind can explain their verdicts: Pods, workloads, and Subscriptions, whose operators
// run in pods.
func HasPods(gk schema.GroupKind) bool {
	switch gk {
	case kindPod, kindDeployment, kindReplicaSet, kindStatefulSet, kindDaemonSet, kindJob, upgrade.Subscription:
		return true
	}
	return false
}

// HasReplicaSets reports whether the pods of an object belong to its ReplicaSets, and not to the object itself.
func HasReplicaSets(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() == kindDeployment
}

// ReplacesPods reports whether a workload replaces each pod that has failed, so that only the other pods show its present state.
func ReplacesPods(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() != kindJob
}

// IsCurrent reports whether a ReplicaSet is of the present revision of its Deployment. The pods of an earlier revision say nothing
// about the present one.
func IsCurrent(deployment *unstructured.Unstructured, replicaSet metav1.ObjectMeta) bool {
	return deployment.GetAnnotations()[annotationRevision] == replicaSet.Annotations[annotationRevision]
}

// PodSelector returns the selector of a workload's pods. ok is false if the object is no workload, or if its selector is missing,
// invalid or empty: an empty selector would select the pods of other workloads.
func PodSelector(obj *unstructured.Unstructured) (selector labels.Selector, ok bool) {
	raw, found, err := unstructured.NestedMap(obj.Object, "spec", "selector")
	if !found || err != nil {
		return nil, false
	}
	var from metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &from); err != nil {
		return nil, false
	}
	selector, err = metav1.LabelSelectorAsSelector(&from)
	return selector, err == nil && !selector.Empty()
}

// OperatorDeployments returns the names of the Deployments that OLM makes of a CSV, in the CSV's order, eight at most. It returns
// none if the CSV is nil or has succeeded.
func OperatorDeployments(csv *unstructured.Unstructured) []string {
	if csv == nil || text(csv.Object, "status", "phase") == string(operators.CSVPhaseSucceeded) {
		return nil
	}
	return AllOperatorDeployments(csv)
}

// AllOperatorDeployments does the same as OperatorDeployments, also for a CSV that has succeeded. The CSV may be nil.
func AllOperatorDeployments(csv *unstructured.Unstructured) []string {
	if csv == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", "deployments")
	var names []string
	for _, item := range list {
		if d, ok := item.(map[string]any); ok && len(names) < maxOperatorDeployments && text(d, "name") != "" {
			names = append(names, text(d, "name"))
		}
	}
	return names
}

// CannotCreate returns the trouble of a workload whose controller cannot create pods, for example because of a quota or of an admission
// webhook; nil if the controller can create pods. The parameter newest is the creation time of the newest pod of the workload, or zero. A
// Warning event counts only if it is later than newest, because an older event is about a pod that exists by now. It counts only for
// createMemory.
func CannotCreate(obj *unstructured.Unstructured, warning *Warning, newest, now time.Time) *Trouble {
	cannot := func(reason, message string) *Trouble {
		return &Trouble{failing: true, reason: reason, words: "its pods cannot be created: " + message}
	}
	switch obj.GroupVersionKind().GroupKind() {
	case kindDeployment, kindReplicaSet:
		if c := conditionOf(obj, "ReplicaFailure"); c.isTrue() && c.reason == reasonFailedCreate {
			return cannot(c.reason, c.words())
		}
	case kindStatefulSet, kindDaemonSet, kindJob:
		if warning != nil && warning.Reason == reasonFailedCreate && warning.At.After(newest) && now.Sub(warning.At) < createMemory {
			return cannot(warning.Reason, warning.Message)
		}
	}
	return nil
}

// crashDebounce is the time for which a workload has to be healthy after a crash of a container before its verdict is Healthy. A container
// without a readiness probe is ready from its start to the next crash, so the workload looks healthy in between. Programs that crash
// at their start do so within this time.
const crashDebounce = 30 * time.Second

// AfterCrash returns the verdict on an object that is healthy again after a crash of its containers: the health, the reason and the message
// of the parameter line, until the object has been healthy for crashDebounce. The parameter v is the verdict of Judge, and well is how
// long the object has been healthy. The parameter line is the entry of the object in the present status, or nil. If line has no
// crash, AfterCrash returns v. It also returns v for a Job and a Pod that have ended, because their containers do not run again, and for
// a Subscription, because OLM has a debounce of its own.
func AfterCrash(obj *unstructured.Unstructured, v Verdict, line *v1alpha1.ObjectStatus, well time.Duration) Verdict {
	if v.Health != v1alpha1.Healthy || line == nil || !NeedsWarning(Verdict{Health: line.Health}) || !runsAgain(line.Reason) || well >= crashDebounce {
		return v
	}
	switch obj.GroupVersionKind().GroupKind() {
	case kindPod:
		if phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase"); phase != "Running" {
			return v
		}
	case kindDeployment, kindReplicaSet, kindStatefulSet, kindDaemonSet:
	default:
		return v
	}
	v.Health, v.Reason, v.Message = line.Health, line.Reason, line.Message
	v.Recheck = min(crashDebounce-well, crashDebounce)
	return v
}

// runsAgain reports whether a container with a trouble of this reason runs for a while after each restart.
func runsAgain(reason string) bool {
	return reason == waitsCrashLoopBackOff || reason == endedOOMKilled
}

// Explanation is a cause in its final form: its texts are bounded, redacted and cleaned.
type Explanation struct {
	Reason, Sentence string
	// Failing is true if the cause does not go away by itself, so that the object is Degraded.
	Failing bool
}

// Tell makes the explanation of a trouble. The parameters eventReason and message are the reason and the message of a Warning event of the
// kind t.Event. The parameter log is the end of the log that t.Log names. All three may be "". The parameter line is the entry of the
// object in the present status, or nil. The explanation is Failing only if line already has the same reason from an observation some
// seconds earlier. In that time, a problem such as a pull that timed out once, or a Secret that arrives late, goes away. Tell returns nil
// if the pod only starts as usual.
func (t *Trouble) Tell(eventReason, message, log string, line *v1alpha1.ObjectStatus) *Explanation {
	reason, sentence := t.reason, t.words
	if message != "" {
		if reason == "" {
			reason = eventReason
		}
		sentence = withDetail(sentence, message)
	}
	if words := LastWords(t.left); words != "" {
		sentence += fromTermination + words
	}
	if reason = identifier(reason); reason == "" {
		return nil
	}
	switch {
	case t.affected > 1:
		sentence = fmt.Sprintf("%d of %d pods, for example %s: %s", t.affected, t.all, t.Pod, sentence)
	case t.Pod != "":
		sentence = "pod " + t.Pod + ": " + sentence
	}
	if words := LastWords(log); words != "" {
		sentence += fromLog + words
	}
	seen := line != nil && line.Reason == reason
	// A container that crashes runs for a while after each restart. The object stays Degraded meanwhile.
	failing := seen && (t.failing || runsAgain(reason) && line.Health == v1alpha1.Degraded)
	return &Explanation{Reason: reason, Sentence: Tidy(sentence, MaxMessage), Failing: failing}
}

// identifier returns the letters and digits of a reason, cut to the length of a reason.
func identifier(reason string) string {
	return word(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, reason[:min(len(reason), maxReason)]))
}

// explained returns a verdict with the cause that its pods show. A healthy object, and an object that is being deleted, keep their
// verdicts: pods of an earlier state may still exist.
func explained(obj *unstructured.Unstructured, v Verdict, related *Related) Verdict {
	gk, e := obj.GroupVersionKind().GroupKind(), related.Explanation
	switch {
	case !NeedsWarning(v) || v.Reason == v1alpha1.ReasonTerminating:
		return v
	case gk == upgrade.Subscription && (len(OperatorDeployments(related.CSV)) == 0 || v.Reason == v1alpha1.ReasonInstallPlanPending):
		return v // the operator's pods have nothing to do with it
	case e == nil && related.PodsRefused:
		v.Message = withDetail(v.Message, "the collector may not read the pods; run `hostctl join` for this member again")
		return v
	case e == nil:
		return v
	}
	consequence := v.Message
	v.Reason, v.Message = e.Reason, e.Sentence
	if consequence != "" && gk != kindPod { // kstatus tells the same of a Pod, in other words
		v.Message += "; " + consequence
	}
	if e.Failing {
		v.Health = v1alpha1.Degraded
	}
	return v
}
