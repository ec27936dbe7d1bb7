// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

// Problem is why a member has not answered. The names of its JSON fields must not change, because scripts read them.
type Problem struct {
	Cluster string `json:"cluster"`
	// Object is the object about which the command asked, for example Deployment/web. It is "" if the command asked about one object only.
	Object string `json:"object,omitempty"`
	// Reason is the reason in the status of the request; "" if there is none.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`

	outlook
}

// outlook is what becomes of a request without an answer.
type outlook struct {
	// ends is true if the request will never have an answer.
	ends bool
	// waits is true if the answer can come by itself in a moment. Otherwise it can only come after a change elsewhere.
	waits bool
	// begins is true for a problem that every request has at first, while the manager and the collector work on it.
	begins bool
	// expired is true if the time of the request is over.
	expired bool
}

// line returns the problem as a line for standard error.
func (p *Problem) line() string {
	mark := "•"
	if p.ends && !p.expired {
		mark = "✗"
	}
	about := ""
	if p.Object != "" {
		about = p.Object + ": "
	}
	return mark + " " + p.Cluster + ": " + about + p.Message
}

// Tell writes the problems to standard error, and returns an error without a message. It returns nil if there are no problems.
func (s *Session) Tell(problems []*Problem) error {
	for _, p := range problems {
		p.ends = true // the command waits no longer
		s.tell(p.line())
	}
	if len(problems) == 0 {
		return nil
	}
	return exit.Silently(exit.Failed)
}

var begins = outlook{waits: true, begins: true}

// reasons are the reasons for which a member does not answer. message explains a reason if the manager has written no message.
var reasons = map[string]struct {
	outlook
	message string
}{
	"": {begins, "the manager has not acted on the request: check that it runs, and that its version knows requests (`hostctl version`)"},
	v1alpha1.ReasonRequestPending: {begins, "the collector has not answered: the condition CollectorReady of the MemberCluster tells if it runs, " +
		"and `hostctl join` of the member gives it the rights that it lacks"},
	v1alpha1.ReasonRequestLimitReached: {outlook{waits: true}, "other requests use all places on this member: wait until they end, or delete MemberReports with a request"},
	v1alpha1.ReasonDeliveryNotFound:    {outlook{waits: true}, "the manager has not pushed the wrapper to this member yet: `hostctl describe` shows why"},
	v1alpha1.ReasonPushError:           {outlook{waits: true}, "the manager could not write the request to this member, and tries again"},
	v1alpha1.ReasonUnreachable:         {outlook{}, "the manager cannot reach this member; the member answers after it is back"},
	v1alpha1.ReasonPairHeld:            {outlook{}, "the manager writes nothing for this wrapper to this member, because the pair is Held: `hostctl describe` shows why"},
	v1alpha1.ReasonWrapperNotFound:     {outlook{ends: true}, "the wrapper does not exist any more, or was created again: run the command again"},
	v1alpha1.ReasonObjectNotFound:      {outlook{ends: true}, "the wrapper does not list the object any more"},
	v1alpha1.ReasonSecretRequested:     {outlook{ends: true}, "collectors read no Secrets"},
	v1alpha1.ReasonClusterNotPlaced:    {outlook{ends: true}, "the wrapper is not placed on this member"},
	v1alpha1.ReasonClusterNotFound:     {outlook{ends: true}, "the host has no MemberCluster of this name"},
	v1alpha1.ReasonMemberOutdated:      {outlook{ends: true}, "the CRDs on this member are of an earlier version and have no field for requests: run `hostctl join` of this member again"},
}

// problemOf returns why a report has no answer; nil if it has one. A later version of the manager may have written a reason that this
// hostctl does not know: then the answer may still come.
func problemOf(r *v1alpha1.MemberReport) *Problem {
	reason := r.Status.Reason
	if reason == v1alpha1.ReasonAnswered {
		return nil
	}
	known, ok := reasons[reason]
	if !ok {
		known.waits = true
	}
	return &Problem{Cluster: r.Spec.Cluster, Reason: reason, Message: cmp.Or(r.Status.Message, known.message, "there is no answer: "+reason), outlook: known.outlook}
}

// gone returns the problem of a request that does not exist any more.
func gone(r *v1alpha1.MemberReport, now time.Time) *Problem {
	p := &Problem{Cluster: r.Spec.Cluster, outlook: outlook{ends: true}}
	lasts := r.Spec.Expires.Sub(r.CreationTimestamp.Time)
	switch {
	case !r.CreationTimestamp.IsZero() && lasts < brief/2:
		p.Message = fmt.Sprintf("the request has expired: the clock of this machine is %s behind the clock of the host: correct the clock of this machine",
			r.CreationTimestamp.Sub(now).Round(time.Second))
	case !now.Before(r.Spec.Expires.Add(-time.Minute)):
		p.expired = true
		p.Message = "the request has expired: run the command again to go on"
	default:
		p.Message = fmt.Sprintf("the MemberReport %s with the request was deleted: run the command again to ask again", r.Name)
	}
	return p
}

// refused returns the error of a request about an object that the host's API server did not accept.
func (r *Request) refused(verb string, object *v1alpha1.ReportedObject, err error) error {
	namespace := v1alpha1.Identity(r.Wrapper)
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot "+verb):
		return fmt.Errorf("hostctl asks members for the %s by MemberReports, and your account may not %s memberreports in namespace %s "+
			"(ClusterRole fairlead-oncall grants it)", r.title(object), verb, namespace.Beside())
	case meta.IsNoMatchError(err):
		return errors.New("the host does not have the kind MemberReport yet: apply the CRDs of this version at the host")
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "unknown field"):
		return errors.New("the host's kind MemberReport has no field spec.request yet: apply the CRDs of this version at the host")
	}
	return fmt.Errorf("asking for the %s: %w", r.title(object), err)
}
