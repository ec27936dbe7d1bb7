// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

const (
	// answersEvery is the shortest time between two writes of a report if the reason in its status stays the same. reasonsEvery is the
	// shortest time if the reason changes.
	answersEvery, reasonsEvery = 5 * time.Second, time.Second
	// writeBurst is how many writes of all reports the loop may do at once, and writeRate how many a second after that. etcd keeps every
	// version of a report until it compacts, and each may have 32 KiB of logs.
	writeBurst, writeRate = 100, 20
)

func newWrites() *rate.Limiter { return rate.NewLimiter(writeRate, writeBurst) }

// report is a MemberReport that the loop has read. Of its fields, only stored and written change after that.
type report struct {
	uid types.UID
	// asks is true if the report has a request. The other fields are set only then.
	asks bool
	// spec has the namespace, name, times and spec of the report.
	spec    *v1alpha1.MemberReport
	expires time.Time
	key     deliveries.Key
	// isBeside is true if the report is in the namespace where reports about its wrapper belong.
	isBeside bool
	member   string

	// stored is the content of the status on the API server. written is when the loop last wrote the status; zero if this process has not
	// written it.
	stored  content
	written time.Time
}

// content is the content of a report's status, in a form that the loop can keep and compare: it has only a digest of the evidence.
type content struct {
	rules.Problem
	evidence digest.Sum
}

func newReport(whole *v1alpha1.MemberReport) *report {
	is := &report{uid: whole.UID, asks: whole.Spec.Request != ""}
	if !is.asks {
		return is
	}
	var id v1alpha1.WrapperIdentity
	id, is.isBeside = rules.Identity(whole)
	is.key, is.member, is.expires = deliveries.KeyOf(id), whole.Spec.Cluster, rules.Expires(whole)
	is.stored = content{Problem: rules.Problem{Reason: whole.Status.Reason, Message: whole.Status.Message}, evidence: digest.SumOfJSON(&whole.Status.Evidence)}
	is.spec = &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: whole.Namespace, Name: whole.Name, CreationTimestamp: whole.CreationTimestamp}, Spec: whole.Spec}
	return is
}

// outcome is what became of a request: the reason and the message of the status, and the answer; nil if there is none.
type outcome struct {
	rules.Problem
	answer *v1alpha1.EvidenceAnswer
	// at is when the answer arrived.
	at time.Time
}

// write writes the status of a report, if it is not as wanted. wait is how long the loop has to wait before it tries again; 0 if it need
// not. Without an answer, the evidence of an earlier answer stays.
func (r *Reconciler) write(ctx context.Context, name types.NamespacedName, is *report, want outcome, now time.Time) (wait time.Duration, err error) {
	next := content{Problem: want.Problem, evidence: is.stored.evidence}
	if want.answer != nil {
		next.evidence = digest.SumOfJSON(&want.answer.Evidence)
	}
	if next == is.stored {
		return 0, nil
	}
	every := answersEvery
	if next.Reason != is.stored.Reason {
		every = reasonsEvery
	}
	if wait = is.written.Add(every).Sub(now); wait > 0 {
		return wait, nil
	}
	reserved := r.writes.ReserveN(now, 1)
	if wait = reserved.DelayFrom(now); wait > 0 {
		reserved.CancelAt(now)
		return max(wait, reasonsEvery), nil
	}
	patch, err := statusPatch(is, want)
	if err != nil {
		return 0, fmt.Errorf("encoding the status of MemberReport %s: %w", name, err)
	}
	obj := &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	err = r.client.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it was deleted, perhaps with another of this name in its place
		return reasonsEvery, nil
	case err != nil:
		return 0, fmt.Errorf("writing the status of MemberReport %s: %w", name, err)
	}
	is.stored, is.written = next, now
	return 0, nil
}

// statusPatch is the merge patch that writes a status. The evidence in it is redacted. The API server refuses the patch if the report has
// another uid.
func statusPatch(is *report, want outcome) ([]byte, error) {
	status := map[string]any{"object": is.spec.Spec.Object, "cluster": is.member, "reason": want.Reason, "message": nil}
	if message := health.Tidy(want.Message, evidence.MaxMessage); message != "" {
		status["message"] = message
	}
	if want.answer != nil {
		status["observedTime"], status["events"], status["containers"] = metav1.NewTime(want.at.UTC()), nil, nil
		redacted := evidence.Redacted(&want.answer.Evidence)
		if len(redacted.Events) > 0 {
			status["events"] = redacted.Events
		}
		if len(redacted.Containers) > 0 {
			status["containers"] = redacted.Containers
		}
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": is.uid}, "status": status})
}
