// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// things is a reader of the host's objects. deleted has the deletionTimestamp of each object by name. The zero time
// stands for an object that is not being deleted; an object without an entry does not exist.
type things struct {
	client.Reader
	deleted map[string]time.Time
	made    time.Time
	fail    error
}

func (r things) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if r.fail != nil {
		return r.fail
	}
	at, there := r.deleted[key.Name]
	if !there {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	obj.SetCreationTimestamp(metav1.Time{Time: r.made})
	if !at.IsZero() {
		obj.SetDeletionTimestamp(&metav1.Time{Time: at})
	}
	return nil
}

func TestWhetherAWrapperWasDeletedWithItsNamespaceOrCRD(t *testing.T) {
	const crd = "federateds.federation.fairlead.dev"
	for name, test := range map[string]struct {
		deleted map[string]time.Time
		made    time.Time
		fail    error
		want    bool
	}{
		"deleted by itself":                                  {deleted: map[string]time.Time{"shop": {}, crd: {}}},
		"deleted, and its namespace after it":                {deleted: map[string]time.Time{"shop": now.Add(time.Second), crd: {}}},
		"deleted with its namespace":                         {deleted: map[string]time.Time{"shop": now, crd: {}}, want: true},
		"its namespace was deleted before it":                {deleted: map[string]time.Time{"shop": now.Add(-time.Second), crd: {}}, want: true},
		"its namespace is gone":                              {deleted: map[string]time.Time{crd: {}}, want: true},
		"its kind was deleted before it":                     {deleted: map[string]time.Time{"shop": {}, crd: now.Add(-time.Minute)}, want: true},
		"its kind was deleted after it":                      {deleted: map[string]time.Time{"shop": {}, crd: now.Add(time.Minute)}},
		"both were created again after its deletion began":   {deleted: map[string]time.Time{"shop": {}, crd: {}}, made: now.Add(time.Second), want: true},
		"both were created in the second of its deletion":    {deleted: map[string]time.Time{"shop": {}, crd: {}}, made: now},
		"both were created while the host's clock was ahead": {deleted: map[string]time.Time{"shop": {}, crd: {}}, made: now.Add(time.Hour)},
		"the host does not answer":                           {fail: errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			w := wrapper("u", "1", 1)
			w.DeletionTimestamp = &metav1.Time{Time: now}
			host := things{deleted: test.deleted, made: test.made, fail: test.fail}
			got, err := cascade{live: host, writes: &writeCache{}, now: now.Add(time.Minute)}.deleted(t.Context(), w)
			if got != test.want || (err != nil) != (test.fail != nil) {
				t.Errorf("that the wrapper is deleted by a cascade is %v (%v), want the opposite", got, err)
			}
		})
	}
}

func TestTheManagerReadsNamespaceAndCRDOnceForEachDeletion(t *testing.T) {
	const crd = "federateds.federation.fairlead.dev"
	w := wrapper("u", "1", 1)
	w.DeletionTimestamp = &metav1.Time{Time: now}
	c := cascade{live: things{deleted: map[string]time.Time{"shop": {}, crd: {}}}, writes: &writeCache{}}
	isCascade := func() bool {
		t.Helper()
		is, err := c.deleted(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if isCascade() {
		t.Fatal("a wrapper that was deleted by itself counts as deleted with its namespace or CRD")
	}
	c.live = things{fail: errors.New("a second read")}
	if isCascade() {
		t.Fatal("the manager reads namespace and CRD again for the same deletion")
	}
	// After that, the host is restored from a backup, and the wrapper is deleted again, this time with its namespace.
	w.DeletionTimestamp = &metav1.Time{Time: now.Add(time.Hour)}
	c.live = things{deleted: map[string]time.Time{"shop": now.Add(time.Hour), crd: {}}}
	if !isCascade() {
		t.Error("the result of the first deletion must not be used for another deletion")
	}
}

func TestWhichMembersADeletedWrapperLeaves(t *testing.T) {
	members := map[string]*v1alpha1.MemberCluster{"east": {}, "west": {}, "north": {}, "south": {}}
	released := []v1alpha1.ReleasedCluster{{Name: "south"}}
	for name, test := range map[string]struct{ holders, want []string }{
		"those of the last decision":           {nil, []string{"east", "west"}},
		"those that have a Delivery of it":     {[]string{"north", "west"}, []string{"east", "north", "west"}},
		"not those that a person has released": {[]string{"south"}, []string{"east", "west"}},
		"not those without a MemberCluster":    {[]string{"another"}, []string{"east", "west"}},
	} {
		t.Run(name, func(t *testing.T) {
			placed := &v1alpha1.PlacementStatus{Clusters: []string{"west", "gone"}, Leaving: []string{"east"}, Released: released}
			if diff := cmp.Diff(test.want, membersToLeave(placed, test.holders, members)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMemberThatIsNotConnectedDoesNotCountAsLeft(t *testing.T) {
	r, _ := host(t, nil)
	o := r.observer(web, wrapper("u", "1", 1), nil)
	if o.HasLeft("east") {
		t.Error("a member that is not connected must not count as left")
	}
	if diff := cmp.Diff([]string{"east"}, o.StillLeaving([]string{"east"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
