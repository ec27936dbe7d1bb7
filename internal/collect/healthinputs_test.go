// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/explain"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
	"github.com/fairlead-dev/fairlead/internal/inflight"
)

const olmNamespace = "ops"

func olmObject(kind, name string) *unstructured.Unstructured {
	return object("operators.coreos.com/v1alpha1", kind, olmNamespace, name)
}

// subscription is a Subscription whose status names the CSV and the InstallPlan, if they are not "".
func subscription(csv, plan string) *unstructured.Unstructured {
	sub := olmObject("Subscription", "op")
	status := map[string]any{}
	if csv != "" {
		status["currentCSV"] = csv
	}
	if plan != "" {
		status["installPlanRef"] = map[string]any{"name": plan}
	}
	sub.Object["status"] = status
	return sub
}

var subscriptionRef = deliveryindex.Ref{
	GroupResource: deliveryindex.Subscriptions, NamespacedName: types.NamespacedName{Namespace: olmNamespace, Name: "op"},
}

func TestReadingTheObjectsRelatedToASubscription(t *testing.T) {
	for name, tt := range map[string]struct {
		subscription *unstructured.Unstructured
		groups       int
		forbidden    string // a resource that the collector may not read
		csv, plan    bool
		wantGroups   int
		refused      string
	}{
		"nothing is named yet, and there is one OperatorGroup": {subscription: subscription("", ""), groups: 1, wantGroups: 1},
		"there is no OperatorGroup":                            {subscription: subscription("", "")},
		"an InstallPlan is named":                              {subscription: subscription("", "plan"), groups: 1, plan: true, wantGroups: 1},
		"a CSV is named, so there is an OperatorGroup":         {subscription: subscription("csv", "plan"), csv: true, plan: true, wantGroups: 1},
		"the named objects are gone":                           {subscription: subscription("gone", "gone"), groups: 2, wantGroups: 2},
		"CSVs may not be read":                                 {subscription: subscription("csv", ""), forbidden: "clusterserviceversions", refused: "clusterserviceversions"},
		"OperatorGroups may not be listed":                     {subscription: subscription("", ""), forbidden: "operatorgroups", refused: "operatorgroups"},
	} {
		t.Run(name, func(t *testing.T) {
			refuse := func(action clienttesting.Action) (bool, runtime.Object, error) {
				gr := action.GetResource().GroupResource()
				if gr.Resource == tt.forbidden {
					return true, nil, apierrors.NewForbidden(gr, "", errors.New("no role"))
				}
				return false, nil, nil
			}
			objects := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(),
				olmObject("ClusterServiceVersion", "csv"), olmObject("InstallPlan", "plan"))
			objects.PrependReactor("*", "*", refuse)
			scheme := metadatafake.NewTestScheme()
			if err := metav1.AddMetaToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			var groups []runtime.Object
			for i := range tt.groups {
				groups = append(groups, &metav1.PartialObjectMetadata{
					TypeMeta:   metav1.TypeMeta{APIVersion: "operators.coreos.com/v1", Kind: "OperatorGroup"},
					ObjectMeta: metav1.ObjectMeta{Namespace: olmNamespace, Name: string(rune('a' + i))},
				})
			}
			about := metadatafake.NewSimpleMetadataClient(scheme, groups...)
			about.PrependReactor("*", "*", refuse)

			r := newRelated(&memberclient.Client{Dynamic: objects, Metadata: about}, nil, nil)
			got, err := r.read(t.Context(), tt.subscription, subscriptionRef)
			if tt.refused != "" {
				refused := (*refusal)(nil)
				if !errors.As(err, &refused) || refused.Resource != tt.refused || !apierrors.IsForbidden(err) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (got.CSV != nil) != tt.csv || (got.InstallPlan != nil) != tt.plan || got.OperatorGroups != tt.wantGroups {
				t.Errorf("read is %+v", got)
			}
		})
	}
}

// toward is a Subscription with a target, an installed CSV and a current CSV.
func toward(target, installed, current, plan string) *unstructured.Unstructured {
	sub := subscription(current, plan)
	sub.SetAnnotations(map[string]string{v1alpha1.AnnotationTargetCSV: target})
	sub.Object["status"].(map[string]any)["installedCSV"] = installed
	return sub
}

// pending sets the state of a Subscription that waits for its next CSV.
func pending(sub *unstructured.Unstructured) *unstructured.Unstructured {
	sub.Object["status"].(map[string]any)["state"] = "UpgradePending"
	return sub
}

func TestReadingForASubscriptionWithATarget(t *testing.T) {
	waits := olmObject("InstallPlan", "waits")
	waits.Object["spec"] = map[string]any{"approval": "Manual", "approved": false}
	newer := olmObject("InstallPlan", "newer")
	newer.Object["spec"] = map[string]any{"approval": "Manual", "approved": false, "clusterServiceVersionNames": []any{"other", "two"}}
	for name, tt := range map[string]struct {
		subscription *unstructured.Unstructured
		csv, plan    string
		asked        []string
	}{
		"the target alone once it is installed, whatever comes after it": {
			subscription: toward("one", "one", "two", "waits"), csv: "one", asked: []string{"clusterserviceversions one"},
		},
		"the installed CSV while the plan of the next one waits": {
			subscription: toward("three", "one", "two", "waits"), csv: "one", asked: []string{"installplans waits", "clusterserviceversions one"},
		},
		"the next CSV once its plan is approved": {
			subscription: toward("three", "one", "two", "runs"), csv: "two", asked: []string{"installplans runs", "clusterserviceversions two"},
		},
		"no CSV while the first plan waits": {
			subscription: toward("two", "", "two", "waits"), asked: []string{"installplans waits"},
		},
		"the newer plan that has the next CSV, if the named plan was deleted": {
			subscription: pending(toward("three", "one", "two", "gone")), csv: "one", plan: "newer",
			asked: []string{"installplans gone", "installplans", "clusterserviceversions one"},
		},
		"no other plan while OLM has not recorded that the next CSV is pending": {
			subscription: toward("three", "one", "two", "gone"), csv: "two", asked: []string{"installplans gone", "clusterserviceversions two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{installPlansGVR: "InstallPlanList"}, waits, newer, olmObject("InstallPlan", "runs"),
				olmObject("ClusterServiceVersion", "one"), olmObject("ClusterServiceVersion", "two"))
			about := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
			r := newRelated(&memberclient.Client{Dynamic: objects, Metadata: about}, nil, nil)
			got, err := r.read(t.Context(), tt.subscription, subscriptionRef)
			if err != nil {
				t.Fatal(err)
			}
			var csv string
			if got.CSV != nil {
				csv = got.CSV.GetName()
			}
			var asked []string
			for _, action := range objects.Actions() {
				words := action.GetResource().Resource
				if get, is := action.(clienttesting.GetAction); is {
					words += " " + get.GetName()
				}
				asked = append(asked, words)
			}
			if csv != tt.csv || !slices.Equal(asked, tt.asked) {
				t.Errorf("the CSV is %q, and asked was %q", csv, asked)
			}
			if tt.plan != "" && (got.InstallPlan == nil || got.InstallPlan.GetName() != tt.plan) {
				t.Errorf("the plan is %v", got.InstallPlan)
			}
		})
	}
}

// A Subscription with a target gets some verdicts only after a waiting time. The member sends no event when that time
// ends, so the collector has to read the Subscription again by itself.
func TestTheCollectorLooksAgainWhenADebounceOfATargetEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		target string
		want   v1alpha1.Health
		after  time.Duration
	}{
		"the target has succeeded long enough":  {target: "db.v1.1.0", want: v1alpha1.Healthy, after: 10 * time.Second},
		"OLM has had time to offer a next step": {target: "db.v1.2.0", want: v1alpha1.Degraded, after: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			sub := toward(tt.target, "db.v1.1.0", "db.v1.1.0", "")
			sub.Object["status"].(map[string]any)["state"] = "AtLatestKnown"
			csv := olmObject("ClusterServiceVersion", "db.v1.1.0")
			csv.Object["status"] = map[string]any{"phase": "Succeeded", "lastTransitionTime": began.Format(time.RFC3339)}
			clk := clocktesting.NewFakeClock(began)
			client, err := memberclient.New(&rest.Config{Host: "https://member.invalid"}, nil, nil, clk, inflight.New(clk, 0))
			if err != nil {
				t.Fatal(err)
			}
			client.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{{Version: "v1", Resource: "events"}: "EventList"}, sub, csv)
			reader := &healthReader{client: client, clock: clk, related: newRelated(client, nil, nil), explain: explain.New(client)}

			entry := &v1alpha1.InventoryEntry{Group: subscriptionRef.Group, Kind: "Subscription", Name: subscriptionRef.Name}
			seen := objectcache.Sighting{GVR: subscriptionRef.WithVersion("v1alpha1"), Found: true}
			remembered := newMemory()
			remembered.noEvidenceUntil = began.Add(time.Hour)
			for {
				p := &pass{memory: remembered, complete: true, delivery: &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Target: &v1alpha1.DeliveryTarget{}}}}
				got, err := reader.verdict(t.Context(), p, entry, subscriptionRef, seen)
				if err != nil {
					t.Fatal(err)
				}
				if got.Health != v1alpha1.Progressing {
					if lasted := clk.Since(began); got.Health != tt.want || lasted != tt.after {
						t.Errorf("after %s it is %s (%s)", lasted, got.Health, got.Message)
					}
					return
				}
				if p.again == 0 || clk.Since(began) > time.Minute {
					t.Fatalf("the collector does not read again for %q", got.Message)
				}
				clk.Step(p.again)
			}
		})
	}
}

func TestAChangeInOLMQueuesTheSubscriptionsOfTheNamespace(t *testing.T) {
	known := deliveryindex.New(newMemory)
	looks := &lookQueue{queue: newQueue(clock.RealClock{}, time.Second), index: known}
	defer looks.ShutDown()
	r := newRelated(nil, nil, looks)
	for name, namespace := range map[string]string{"here": olmNamespace, "there": "other"} {
		known.Learn(&v1alpha1.Delivery{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.DeliverySpec{
				Wrapper:   v1alpha1.WrapperIdentity{Namespace: namespace},
				Inventory: []v1alpha1.InventoryEntry{{Group: subscriptionRef.Group, Kind: "Subscription", Resource: subscriptionRef.Resource, Name: "op"}},
			},
		}, time.Now())
	}
	toLookAt := func() (names []string) {
		for looks.Len() > 0 {
			name, _ := looks.Get()
			looks.Done(name)
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	w := r.watch(csvsGVR)
	csv := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: olmNamespace, Name: "csv"}}
	before := r.changes(subscriptionRef)
	w.Put(csv)
	if got := toLookAt(); !slices.Equal(got, []string{"here"}) || r.changes(subscriptionRef) == before {
		t.Errorf("after an event, looked at are %q, changes %d", got, r.changes(subscriptionRef))
	}
	before = r.changes(subscriptionRef)
	w.Replace(nil, "1")
	if got := toLookAt(); !slices.Equal(got, []string{"here", "there"}) || r.changes(subscriptionRef) == before {
		t.Errorf("after a list, looked at are %q, changes %d", got, r.changes(subscriptionRef))
	}
	known.Forget("here")
	w.Drop(csv)
	if got := toLookAt(); len(got) > 0 || len(r.olmChanges) != 1 {
		t.Errorf("after the Subscription is gone, looked at are %q, counted are %v", got, r.olmChanges)
	}
	if r.forget(); len(r.olmChanges) > 0 {
		t.Errorf("without Subscriptions, counted are %v", r.olmChanges)
	}
	other := deliveryindex.Ref{GroupResource: schema.GroupResource{Resource: "configmaps"}}
	if r.changes(other) != 0 {
		t.Error("a ConfigMap has related objects")
	}
}
