// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

const (
	// MaxClusters is how many members one command may ask.
	MaxClusters = 8
	// MaxObjects is how many objects of a wrapper one command may ask about. A Delivery has no room for more requests.
	MaxObjects = evidence.MaxAnswers
	// Longest is how long a command can follow answers. The manager ends each request after that time.
	Longest = time.Hour
	// brief is how long a request for one answer lasts if hostctl cannot delete it earlier. It is longer than the wait for the answer,
	// because the clocks of this machine and of the host can differ.
	brief = 5 * time.Minute
	// maxGenerated is the greatest length, in bytes, of metadata.generateName before its last dash.
	maxGenerated = 240
)

// Request is what a command asks of members.
type Request struct {
	Wrapper v1alpha1.Wrapper
	Type    v1alpha1.EvidenceType
	// Subjects are what the command asks about: at most MaxObjects objects, on at most MaxClusters members.
	Subjects []Subject
	// Since leaves out older lines of logs; 0 for all lines.
	Since time.Duration
	// Follows is true if the command goes on after the first answers.
	Follows bool
}

// Subject is what one MemberReport asks about: an object on a member.
type Subject struct {
	Object  v1alpha1.ReportedObject
	Cluster string
}

// OnEach returns the subjects for an object on each of the members.
func OnEach(members []string, object v1alpha1.ReportedObject) []Subject {
	subjects := make([]Subject, 0, len(members))
	for _, name := range members {
		subjects = append(subjects, Subject{object, name})
	}
	return subjects
}

// subjectOf returns what a MemberReport asks about.
func subjectOf(r *v1alpha1.MemberReport) Subject { return Subject{r.Spec.Object, r.Spec.Cluster} }

// lasts returns how long the request is valid.
func (r *Request) lasts() time.Duration {
	if r.Follows {
		return Longest
	}
	return brief
}

// title returns what is asked for about an object, for a person: "logs of Deployment web".
func (r *Request) title(object *v1alpha1.ReportedObject) string {
	what := "events"
	if r.Type == v1alpha1.EvidenceLogs {
		what = "logs"
	}
	return what + " of " + object.Kind + " " + object.Name
}

// hasOneObject reports whether all subjects are about the same object.
func (r *Request) hasOneObject() bool {
	return !slices.ContainsFunc(r.Subjects, func(s Subject) bool { return s.Object != r.Subjects[0].Object })
}

// report returns the MemberReport that asks about one subject. The wrapper owns the report, so the garbage collector deletes it after the wrapper.
func (r *Request) report(about Subject, now time.Time) *v1alpha1.MemberReport {
	id := v1alpha1.Identity(r.Wrapper)
	report := &v1alpha1.MemberReport{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MemberReport"},
		ObjectMeta: metav1.ObjectMeta{Namespace: id.Beside(), GenerateName: marks.Bounded(id.Name, maxGenerated) + "-"},
		Spec: v1alpha1.MemberReportSpec{
			Wrapper: v1alpha1.WrapperReference{Kind: id.Kind, Name: id.Name, UID: id.UID},
			Request: r.Type, Cluster: about.Cluster, Object: about.Object, SinceSeconds: seconds(r.Since), Expires: metav1.NewTime(now.Add(r.lasts())),
		},
	}
	if !slices.Contains(r.Wrapper.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		// The report gets an owner only if no person is deleting the wrapper in the foreground. During such a deletion the garbage
		// collector would delete an owned report at once.
		report.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: string(id.Kind), Name: id.Name, UID: id.UID,
		}}
	}
	return report
}

// seconds returns a duration in whole seconds, rounded up.
func seconds(d time.Duration) int32 {
	whole := d / time.Second
	if d%time.Second > 0 {
		whole++
	}
	return int32(min(whole, math.MaxInt32))
}

// Members returns the members to ask: the chosen ones, sorted, or those on which the wrapper is placed. It returns an error if there is
// none, or if there are more than MaxClusters.
func Members(w v1alpha1.Wrapper, chosen []string) ([]string, error) {
	members := slices.Clone(chosen)
	if len(members) == 0 {
		members = slices.Clone(w.WrapperStatus().Placement.Clusters)
	}
	slices.Sort(members)
	members = slices.Compact(members)
	switch {
	case len(members) == 0:
		return nil, exit.Usagef("%s is placed on no member, so there is no member to ask", render.TitleOf(w))
	case len(members) > MaxClusters && len(chosen) > 0:
		return nil, exit.Usagef("--cluster names %d members, and hostctl asks at most %d at a time: name fewer", len(members), MaxClusters)
	case len(members) > MaxClusters:
		return nil, exit.Usagef("%s is placed on %d members, and hostctl asks at most %d at a time: name them with --cluster, for example --cluster %s",
			render.TitleOf(w), len(members), MaxClusters, members[0])
	}
	return members, nil
}
