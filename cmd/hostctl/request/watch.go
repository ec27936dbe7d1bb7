// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// errGone is the error for a request that does not exist any more.
var errGone = errors.New("the request does not exist any more")

// follower watches one request.
type follower struct {
	*Session
	created *v1alpha1.MemberReport
	send    func(Update)
	// silent is true while the host does not answer and the follower has sent that problem already, so that it sends the problem once.
	silent bool
}

// follow sends the states of the request until ctx is done, or until there are no more. The API server ends each watch after some time,
// and at a restart; follow then reads the request again.
func (f *follower) follow(ctx context.Context) {
	for {
		err := f.watch(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errGone):
			f.send(Update{Problem: gone(f.created, f.Now())})
			return
		case err != nil && !connect.IsTransient(err):
			f.send(Update{Problem: &Problem{Cluster: f.created.Spec.Cluster, Message: plain.Error(err), outlook: outlook{ends: true}}})
			return
		case err != nil && !f.silent:
			f.silent = true
			f.send(Update{Problem: &Problem{Cluster: f.created.Spec.Cluster, Message: "the host does not answer, hostctl tries again: " + plain.Error(err),
				outlook: outlook{waits: true}}})
		}
		if f.Pause(ctx) != nil {
			return
		}
	}
}

// watch reads the request, and then watches it until the watch ends.
func (f *follower) watch(ctx context.Context) error {
	now := &v1alpha1.MemberReport{}
	err := f.host.Get(ctx, client.ObjectKeyFromObject(f.created), now)
	switch {
	case apierrors.IsNotFound(err), err == nil && now.UID != f.created.UID:
		return errGone
	case err != nil:
		return f.request.refused("get", &f.created.Spec.Object, err)
	}
	f.report(now)
	watcher, err := f.host.Watch(ctx, &v1alpha1.MemberReportList{}, client.InNamespace(now.Namespace), client.MatchingFields{"metadata.name": now.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: now.ResourceVersion}})
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil // the API server has forgotten the state from which the watch was to begin
	}
	if err != nil {
		return f.request.refused("watch", &f.created.Spec.Object, err)
	}
	defer watcher.Stop()
	f.silent = false
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-watcher.ResultChan():
			r, isReport := e.Object.(*v1alpha1.MemberReport)
			switch {
			case !ok || e.Type == watch.Error:
				return nil
			case !isReport || r.UID != f.created.UID:
			case e.Type == watch.Deleted:
				return errGone
			case e.Type == watch.Added || e.Type == watch.Modified:
				f.report(r)
			}
		}
	}
}

// report sends a state of the request. It sets the cluster and the object in the status from the spec: a request is to one member and about
// one object.
func (f *follower) report(r *v1alpha1.MemberReport) {
	s := &r.Status
	s.Cluster, s.Object = r.Spec.Cluster, r.Spec.Object
	s.Clusters, s.ClusterCount = []string{s.Cluster}, 1
	evidence.CleanReport(s)
	f.send(Update{Report: r, Problem: problemOf(r)})
}
