// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/request"
	"github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// subjects returns what -f and --since ask about: the object of --object; without it, the objects in trouble that have pods; if there are
// none, all objects that have pods.
func (o *Options) subjects(ctx context.Context, w v1alpha1.Wrapper) ([]request.Subject, error) {
	if o.Object != "" {
		return o.named(w, o.Clusters)
	}
	objects := slices.DeleteFunc(evidencerequest.Objects(w), func(object v1alpha1.ReportedObject) bool {
		return !health.HasPods(schema.GroupKind{Group: object.Group, Kind: object.Kind})
	})
	if len(objects) == 0 {
		return nil, exit.Usagef("%s has no objects with pods, so it has no logs", render.TitleOf(w))
	}
	if len(o.Clusters) > 0 {
		if _, err := request.Members(w, o.Clusters); err != nil { // they are too many
			return nil, err
		}
	}
	reports, err := evidence.Reports(ctx, o.Host, w)
	if err != nil {
		return nil, fmt.Errorf("logs of %s: %w", render.TitleOf(w), err)
	}
	about, title := o.inTrouble(w, objects, reports), "objects in trouble"
	if len(about) == 0 {
		title = "objects with pods"
		members, err := request.Members(w, o.Clusters)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			about = append(about, request.OnEach(members, object)...)
		}
	}
	return about, bound(w, title, about)
}

// named returns the object of --object on each of these members. Without members it takes those on which the wrapper is placed.
func (o *Options) named(w v1alpha1.Wrapper, members []string) ([]request.Subject, error) {
	object, err := request.Object(w, o.Object)
	if err != nil {
		return nil, err
	}
	members, err = request.Members(w, members)
	return request.OnEach(members, object), err
}

// inTrouble returns those of the objects that the reports are about, each on the members of --cluster. Without --cluster it takes the
// members that the reports name, as far as the wrapper is placed there: the manager sends a request to no other member.
func (o *Options) inTrouble(w v1alpha1.Wrapper, objects []v1alpha1.ReportedObject, reports []v1alpha1.MemberReport) []request.Subject {
	var about []request.Subject
	for _, object := range objects {
		for i := range reports {
			r := &reports[i]
			if !evidence.IsObject(r, evidencerequest.Ref(&object)) || !evidence.IsAbout(r, w, o.Clusters) {
				continue
			}
			members := o.Clusters
			if len(members) == 0 {
				members = slices.DeleteFunc(slices.Clone(r.Status.Clusters), func(name string) bool {
					return !slices.Contains(w.WrapperStatus().Placement.Clusters, name)
				})
			}
			about = append(about, request.OnEach(members, object)...)
		}
	}
	slices.SortStableFunc(about, func(a, b request.Subject) int {
		return cmp.Or(cmp.Compare(slices.Index(objects, a.Object), slices.Index(objects, b.Object)), cmp.Compare(a.Cluster, b.Cluster))
	})
	return slices.Compact(about)
}

// bound returns an error if these are more objects, or more members, than one command may ask about.
func bound(w v1alpha1.Wrapper, title string, about []request.Subject) error {
	objects, members := make(map[v1alpha1.ReportedObject]bool), make(map[string]bool)
	for _, s := range about {
		objects[s.Object], members[s.Cluster] = true, true
	}
	switch {
	case len(objects) > request.MaxObjects:
		return exit.Usagef("%s has %d %s, and hostctl asks about at most %d at a time: name one with --object, for example --object %s", render.TitleOf(w),
			len(objects), title, request.MaxObjects, evidencerequest.Ref(&about[0].Object))
	case len(members) > request.MaxClusters:
		return exit.Usagef("%s has %s on %d members, and hostctl asks at most %d at a time: name them with --cluster, for example --cluster %s", render.TitleOf(w),
			title, len(members), request.MaxClusters, about[0].Cluster)
	}
	return nil
}
