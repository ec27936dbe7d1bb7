// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/memberreport"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// maxReports is how many reports of a wrapper hostctl reads. The manager does not write more.
const maxReports = 10

// Unreadable is the error for events or reports that hostctl could not read. Its text follows the name of what is missing and a
// colon: "events: not shown, because …".
type Unreadable struct {
	request, namespace string
	err                error
}

func (u *Unreadable) Error() string {
	switch {
	case apierrors.IsForbidden(u.err):
		return fmt.Sprintf("not shown, because your account may not %s in namespace %s (ClusterRole fairlead-oncall grants it)", u.request, u.namespace)
	case meta.IsNoMatchError(u.err):
		return "not shown, because the host does not have the kind MemberReport yet: apply the CRDs of this version at the host"
	}
	return health.Clean("not read: "+plain.Error(u.err), health.MaxMessage)
}

func (u *Unreadable) Unwrap() error { return u.err }

// ReportsNamespace returns the namespace with the reports of a wrapper.
func ReportsNamespace(w v1alpha1.Wrapper) string {
	return cmp.Or(w.GetNamespace(), v1alpha1.SystemNamespace)
}

// MetadataOfReports returns an empty list of MemberReports for requests that ask for the metadata only. A namespace can have reports
// of many wrappers, with kilobytes of logs in each.
func MetadataOfReports() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MemberReportList"))
	return list
}

// IsOf reports whether a MemberReport with this metadata is about the wrapper.
func IsOf(report metav1.Object, w v1alpha1.Wrapper) bool {
	return slices.ContainsFunc(report.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == w.GetUID() })
}

// IsOfTrouble reports whether a MemberReport with this metadata is about an object of the wrapper that is not healthy. All other
// MemberReports answer a person's request. The name tells which it is: the manager's own reports have names of a form that the API
// server refuses for a report with a request.
func IsOfTrouble(report metav1.Object, w v1alpha1.Wrapper) bool {
	_, ok := memberreport.KeyIn(report.GetName(), w.GetName())
	return ok && IsOf(report, w)
}

// Reports reads the MemberReports about objects of a wrapper that are not healthy, sorted by object, reason and member.
// Their texts are safe to print (see CleanReport). The error is an *Unreadable.
func Reports(ctx context.Context, host client.Client, w v1alpha1.Wrapper) ([]v1alpha1.MemberReport, error) {
	reports, _, err := ReportsAt(ctx, host, w)
	return reports, err
}

// ReportsAt does the same as Reports. It also returns the resource version from which a watch continues.
func ReportsAt(ctx context.Context, host client.Client, w v1alpha1.Wrapper) ([]v1alpha1.MemberReport, string, error) {
	namespace := ReportsNamespace(w)
	list := MetadataOfReports()
	if err := host.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, "", &Unreadable{"list memberreports", namespace, err}
	}
	list.Items = slices.DeleteFunc(list.Items, func(m metav1.PartialObjectMetadata) bool { return !IsOfTrouble(&m, w) })
	slices.SortFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var reports []v1alpha1.MemberReport
	for i := range list.Items[:min(len(list.Items), maxReports)] {
		report, err := Report(ctx, host, namespace, list.Items[i].Name)
		if err != nil {
			return nil, "", err
		}
		if report != nil {
			reports = append(reports, *report)
		}
	}
	slices.SortFunc(reports, func(a, b v1alpha1.MemberReport) int {
		x, y := &a.Status, &b.Status
		return cmp.Or(cmp.Compare(x.Object.Kind, y.Object.Kind), cmp.Compare(x.Object.Name, y.Object.Name), cmp.Compare(x.Reason, y.Reason),
			cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(a.Name, b.Name))
	})
	return reports, list.ResourceVersion, nil
}

// Report reads one MemberReport, with texts that are safe to print. It returns nil if the report does not exist any more, or has no
// status yet. The error is an *Unreadable.
func Report(ctx context.Context, host client.Client, namespace, name string) (*v1alpha1.MemberReport, error) {
	report := &v1alpha1.MemberReport{}
	err := host.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, report)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // the comment of the function tells what nil means
	case err != nil:
		return nil, &Unreadable{"get memberreports", namespace, err}
	case report.Status.Cluster == "":
		return nil, nil //nolint:nilnil // as above
	}
	CleanReport(&report.Status)
	return report, nil
}

// ObjectOf returns the kind and the name of the object that a report is about.
func ObjectOf(r *v1alpha1.MemberReport) string {
	return r.Status.Object.Kind + " " + r.Status.Object.Name
}

// SeenOf returns when an event of a report was last seen. The clock of a member can be ahead. But an event cannot be later than the report
// about it, so SeenOf returns at most the time of the report.
func SeenOf(r *v1alpha1.MemberReport, e *v1alpha1.ObservedEvent) metav1.Time {
	if received := r.Status.ObservedTime; !received.IsZero() && received.Before(&e.LastTime) {
		return received
	}
	return e.LastTime
}

// IsObject reports whether a report is about the object that --object names.
func IsObject(r *v1alpha1.MemberReport, object string) bool {
	o := &r.Status.Object
	return strings.EqualFold(o.Kind+"/"+o.Name, object) || strings.EqualFold(o.Kind+"."+o.Group+"/"+o.Name, object)
}

// Others returns the other members that show the same failure as the member of the report, and how many more the report does not name.
func Others(r *v1alpha1.MemberReport) (names []string, more int) {
	for _, name := range r.Status.Clusters {
		if name != r.Status.Cluster {
			names = append(names, name)
		}
	}
	more = max(0, int(r.Status.ClusterCount)-len(r.Status.Clusters))
	if mayHave(r, r.Status.Cluster) {
		more--
	}
	return names, more
}

// IsCurrent reports whether the member that sent the evidence still shows the failure. A report without names of members is about
// this member alone. A report lists the first 100 of its members in the order of their names. If the name of this member comes after
// these, IsCurrent cannot tell, and returns true.
func IsCurrent(r *v1alpha1.MemberReport) bool {
	return len(r.Status.Clusters) == 0 || slices.Contains(r.Status.Clusters, r.Status.Cluster) || mayHave(r, r.Status.Cluster)
}

// mayHave reports whether a member can be one of those that the report does not name.
func mayHave(r *v1alpha1.MemberReport, name string) bool {
	named := r.Status.Clusters
	return int(r.Status.ClusterCount) > len(named) && len(named) > 0 && name > named[len(named)-1]
}

// IsAbout reports whether a report is about one of the chosen members. It returns true if there are no chosen members. If a chosen
// member may be one that the report does not name, the reason in the member's line of the wrapper's status decides.
func IsAbout(r *v1alpha1.MemberReport, w v1alpha1.Wrapper, chosen []string) bool {
	return len(chosen) == 0 || slices.ContainsFunc(chosen, func(name string) bool {
		if name == r.Status.Cluster || slices.Contains(r.Status.Clusters, name) {
			return true
		}
		l := LineOf(w, name)
		return mayHave(r, name) && l != nil && l.Reason == r.Status.Reason
	})
}

// Unreported returns those of the chosen members that none of the reports is about.
func Unreported(reports []v1alpha1.MemberReport, w v1alpha1.Wrapper, chosen []string) []string {
	return slices.DeleteFunc(slices.Clone(chosen), func(name string) bool {
		return slices.ContainsFunc(reports, func(r v1alpha1.MemberReport) bool { return IsAbout(&r, w, []string{name}) })
	})
}

// LineOf returns the line of a member in the status of a wrapper; nil if it has none.
func LineOf(w v1alpha1.Wrapper, name string) *v1alpha1.ClusterStatus {
	lines := w.WrapperStatus().Clusters
	for i := range lines {
		if lines[i].Name == name {
			return &lines[i]
		}
	}
	return nil
}

// UnreachableIn returns the lines of Unreachable members, of which the user has to know in order to judge a report. The first is the line
// of the member that sent the evidence. The others are the lines of chosen members that the report names: the user asked for the evidence
// of these members, but the report has that of another one.
func UnreachableIn(r *v1alpha1.MemberReport, w v1alpha1.Wrapper, chosen []string) []*v1alpha1.ClusterStatus {
	names := []string{r.Status.Cluster}
	for _, name := range chosen {
		if name != r.Status.Cluster && slices.Contains(r.Status.Clusters, name) {
			names = append(names, name)
		}
	}
	var lines []*v1alpha1.ClusterStatus
	for _, name := range names {
		if l := Unreachable(w, name); l != nil {
			lines = append(lines, l)
		}
	}
	return lines
}

// Unreachable returns the line of a member that the manager cannot reach; nil if the manager reaches it, or the status has no line.
func Unreachable(w v1alpha1.Wrapper, name string) *v1alpha1.ClusterStatus {
	if l := LineOf(w, name); l != nil && l.State == v1alpha1.StateUnreachable {
		return l
	}
	return nil
}
