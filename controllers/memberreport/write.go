// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/coalesce"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/federate/health"
	rules "github.com/fairlead-dev/fairlead/federate/memberreport"
)

const (
	// evidenceEvery is the shortest time between two writes of a report if only its evidence changes. Package coalesce bounds such writes of
	// all reports of a wrapper.
	evidenceEvery = 10 * time.Second
	// membersEvery is the shortest time between two writes of a report if its members change, and between its last write and its
	// deletion.
	membersEvery = time.Second
	// refusedAgain is the time after which the loop tries again to write content that the API server has refused.
	refusedAgain = 10 * time.Minute
	// maxRefusal is how many bytes of the API server's error the loop logs. It is limited, because the error may repeat the whole content.
	maxRefusal = 1024
	// cacheLag is how long after its last write a report may be missing in the cache. After that, the loop takes the report for deleted.
	cacheLag = 30 * time.Second
)

// knownReports is what the loop knows about the reports of one wrapper. Only the reconcile of that wrapper uses it.
type knownReports struct {
	wrapper types.UID
	byName  map[string]*knownReport
	// deleted has the reports that the loop has deleted within evidenceEvery.
	deleted map[string]deletion
	// writes bounds the writes of this wrapper. turn is the wrapper's place among the wrappers that wait for the limit of all writes.
	writes *rate.Limiter
	turn   rules.Turn
	// coalesced are the writes of this wrapper's reports.
	coalesced coalesce.Writes
}

func newKnownReports(wrapper types.UID) *knownReports {
	return &knownReports{wrapper: wrapper, byName: make(map[string]*knownReport), deleted: make(map[string]deletion), writes: rate.NewLimiter(1, wrapperBurst)}
}

type deletion struct {
	uid types.UID
	at  time.Time
}

// knownReport is one report that the loop has written or read.
type knownReport struct {
	uid     types.UID
	version string
	// content is a digest of the status, and members a digest of the members in it.
	content, members digest.Sum
	// written is when the loop wrote the report last; zero if this process has not written it.
	written time.Time
	// cached is true once the loop has found the report in the cache.
	cached bool
	// refused is a digest of the content that the API server refused last, and refusedAt the time of the refusal. Both are zero after
	// a successful write.
	refused   digest.Sum
	refusedAt time.Time
}

func (p *reconciliation) knownAs(is *v1alpha1.MemberReport, cached bool) *knownReport {
	return &knownReport{uid: is.UID, version: is.ResourceVersion, content: digest.SumOfJSON(is.Status), members: digest.SumOfJSON(membersOf(&is.Status)), cached: cached}
}

func membersOf(status *v1alpha1.MemberReportStatus) any {
	return []any{status.Clusters, status.ClusterCount}
}

// write creates, changes and deletes reports so that they become those in want, as far as the limits allow. A report that the API
// server refuses does not keep the loop from writing the others.
func (p *reconciliation) write(ctx context.Context, want []rules.Report) error {
	for name, d := range p.known.deleted {
		if p.now.Sub(d.at) >= evidenceEvery {
			delete(p.known.deleted, name)
		}
	}
	var failed []error
	wanted := make(map[string]bool, len(want))
	for i := range want {
		wanted[rules.Name(p.id.Name, want[i].Key)] = true
	}
	// The deletes come first. Otherwise a member that changes its messages all the time would use up the writes for new reports, and
	// the old ones would stay.
	for name, is := range p.known.byName {
		if !wanted[name] && p.isDue(is.written, membersEvery) && p.mayWrite(1) {
			failed = append(failed, p.delete(ctx, name, is))
		}
	}
	for _, i := range p.order(want) {
		failed = append(failed, p.bring(ctx, rules.Name(p.id.Name, want[i].Key), &want[i].Status))
	}
	return errors.Join(failed...)
}

// order returns the indexes of the wanted reports in the order in which the loop writes them: first those that it has not written yet, in
// the order of want, and then those that it wrote longest ago. So all reports of a wrapper get newer evidence in turn.
func (p *reconciliation) order(want []rules.Report) []int {
	written := func(i int) (at time.Time) {
		if is := p.known.byName[rules.Name(p.id.Name, want[i].Key)]; is != nil {
			at = is.written
		}
		return at
	}
	order := make([]int, len(want))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return written(a).Compare(written(b)) })
	return order
}

// isDue reports whether at least the duration `every` has passed since a write. If not, the loop repeats the reconcile when it has passed.
func (p *reconciliation) isDue(written time.Time, every time.Duration) bool {
	wait := written.Add(every).Sub(p.now)
	p.repeatAfter(wait)
	return wait <= 0
}

// isTurnOf reports whether the loop may write a change now. If not, the loop repeats the reconcile when it may.
func (p *reconciliation) isTurnOf(change coalesce.Change) bool {
	wait := p.known.coalesced.Wait(change, p.now)
	p.repeatAfter(wait)
	return wait <= 0
}

// bring creates the report if it does not exist, and changes its status if the status differs from want.
func (p *reconciliation) bring(ctx context.Context, name string, want *v1alpha1.MemberReportStatus) error {
	is := p.known.byName[name]
	if is == nil {
		if !p.isDue(p.known.deleted[name].at, evidenceEvery) || !p.mayWrite(2) {
			return nil
		}
		created, err := p.create(ctx, name)
		if err != nil || created == nil {
			return err
		}
		is = p.knownAs(created, false)
		p.known.byName[name] = is
		delete(p.known.deleted, name)
		return p.patch(ctx, name, is, want, coalesce.News)
	}
	every, change := evidenceEvery, coalesce.Repeat
	if is.members != digest.SumOfJSON(membersOf(want)) {
		change = coalesce.News
		if is.refusedAt.IsZero() {
			every = membersEvery
		}
	}
	content := digest.SumOfJSON(*want)
	if is.content == content || !p.isDue(is.written, every) || is.refused == content && !p.isDue(is.refusedAt, refusedAgain) || !p.isTurnOf(change) || !p.mayWrite(1) {
		return nil
	}
	return p.patch(ctx, name, is, want, change)
}

// create creates a report without a status. It returns nil if another client has made an object of this name, or if the namespace is
// being deleted.
func (p *reconciliation) create(ctx context.Context, name string) (*v1alpha1.MemberReport, error) {
	is := &v1alpha1.MemberReport{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.id.Beside(), Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.GroupVersion.String(), Kind: string(p.id.Kind), Name: p.id.Name, UID: p.id.UID}}},
		Spec: v1alpha1.MemberReportSpec{Wrapper: v1alpha1.WrapperReference{Kind: p.id.Kind, Name: p.id.Name, UID: p.id.UID}},
	}
	err := p.client.Create(ctx, is)
	switch {
	case err == nil:
		return is, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, nil
	case apierrors.IsAlreadyExists(err):
		ctrl.LoggerFrom(ctx).Info("a MemberReport of this name exists that is not of this wrapper, or that the cache does not have yet", "report", name)
		p.repeatAfter(evidenceEvery)
		return nil, nil
	}
	return nil, fmt.Errorf("creating MemberReport %s/%s: %w", is.Namespace, name, err)
}

// patch replaces the status of a report. It redacts the status. The digests in is are those of the status without redaction: for the texts of
// Fairlead's collector both are equal.
func (p *reconciliation) patch(ctx context.Context, name string, is *knownReport, want *v1alpha1.MemberReportStatus, change coalesce.Change) error {
	data, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": is.uid},
		{"op": "add", "path": "/status", "value": rules.Redacted(want)},
	})
	if err != nil {
		return fmt.Errorf("encoding the status of MemberReport %s: %w", name, err)
	}
	stored := &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: p.id.Beside(), Name: name}}
	if err := p.client.Status().Patch(ctx, stored, client.RawPatch(types.JSONPatchType, data)); err != nil {
		isOther := apierrors.IsNotFound(err) || apierrors.IsConflict(err)
		if apierrors.IsInvalid(err) { // a failed test of the uid, or content that the schema refuses
			var failed error
			if isOther, failed = p.isReplaced(ctx, name, is); failed != nil {
				return failed
			}
			if !isOther {
				p.refuse(ctx, name, is, want, err)
				return nil
			}
		}
		if isOther { // another client deleted it, or made another of this name; the next reconcile reads it
			delete(p.known.byName, name)
			p.repeatAfter(membersEvery)
			return nil
		}
		return fmt.Errorf("writing the status of MemberReport %s/%s: %w", stored.Namespace, name, err)
	}
	is.version, is.content, is.members, is.written = stored.ResourceVersion, digest.SumOfJSON(*want), digest.SumOfJSON(membersOf(want)), p.now
	is.refused, is.refusedAt = digest.Sum{}, time.Time{}
	p.known.coalesced.Wrote(change, p.now)
	return nil
}

// isReplaced reports whether another client has deleted a report, or has replaced it by a new report of the same name.
func (p *reconciliation) isReplaced(ctx context.Context, name string, is *knownReport) (bool, error) {
	stored := &v1alpha1.MemberReport{}
	err := p.live.Get(ctx, client.ObjectKey{Namespace: p.id.Beside(), Name: name}, stored)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("reading MemberReport %s/%s: %w", p.id.Beside(), name, err)
	}
	return err != nil || stored.UID != is.uid, nil
}

// refuse records that the API server refuses the content of a report. The loop tries again when the content changes, or after ten
// minutes: during an upgrade the CRD may be of another version than the manager.
func (p *reconciliation) refuse(ctx context.Context, name string, is *knownReport, want *v1alpha1.MemberReportStatus, why error) {
	content := digest.SumOfJSON(*want)
	if is.refused != content {
		ctrl.LoggerFrom(ctx).Info("The API server refuses the content of a MemberReport, so it stays as it is; if the CRD memberreports is of an earlier version, apply config/crd",
			"namespace", p.id.Beside(), "report", name, "retryAfter", refusedAgain.String(), "error", health.Clean(why.Error(), maxRefusal))
	}
	is.refused, is.refusedAt, is.written = content, p.now, p.now
	p.repeatAfter(refusedAgain)
}

func (p *reconciliation) delete(ctx context.Context, name string, is *knownReport) error {
	obj := &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: p.id.Beside(), Name: name}}
	err := p.client.Delete(ctx, obj, client.Preconditions{UID: &is.uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting MemberReport %s/%s, for which no member has evidence any more: %w", obj.Namespace, name, err)
	}
	delete(p.known.byName, name)
	p.known.deleted[name] = deletion{uid: is.uid, at: p.now}
	return nil
}
