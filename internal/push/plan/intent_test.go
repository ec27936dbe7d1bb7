// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestWhenAPassNeedsAnIntent(t *testing.T) {
	const uid = "5f0e8a6c-2c4b-4d0f-9a3e-0123456789ab"
	pair := Pair{Member: "east"}
	for name, test := range map[string]struct {
		change  func(*Change)
		intents bool
	}{
		"contents change": {func(*Change) {}, false},
		"contents of several objects": {func(c *Change) {
			c.Objects = append(c.Objects, ChangedObject{ID: ObjectID{Group: "apps", Kind: "Deployment", Name: "d"}, UID: uid})
		}, false},
		"no summary": {func(c *Change) { c.Work.Recalled = nil }, true},
		"the last pass is not known, or did not record all": {func(c *Change) { c.Work.IsRecorded = false }, true},
		"an earlier pass left objects unrecorded": {func(c *Change) {
			c.Work.Unrecorded = (&Unrecorded{}).Of(pair)
			c.Work.Unrecorded.Add(ObjectID{Kind: "ConfigMap", Name: "a"})
		}, true},
		"an object has drifted": {func(c *Change) {
			c.Work.Drifted = map[ObjectID]v1alpha1.DriftKind{{Kind: "ConfigMap", Name: "b"}: v1alpha1.DriftChanged}
		}, true},
		"an object is gone": {func(c *Change) {
			c.Work.Drifted = map[ObjectID]v1alpha1.DriftKind{{Kind: "ConfigMap", Name: "b"}: v1alpha1.DriftGone}
		}, true},
		"no collector observes":                {func(c *Change) { c.Work.IsObserved = false }, true},
		"an object says keep":                  {func(c *Change) { c.SaysKeep = true }, true},
		"a rollout":                            {func(c *Change) { c.IsPaced = true }, true},
		"a uid is not known":                   {func(c *Change) { c.Objects[0].UID = "" }, true},
		"a Secret":                             {func(c *Change) { c.Objects[0].ID.Kind = "Secret" }, true},
		"a Secret of another group":            {func(c *Change) { c.Objects[0].ID = ObjectID{Group: "example.org", Kind: "Secret", Name: "a"} }, false},
		"a Namespace":                          {func(c *Change) { c.Objects[0].ID.Kind = "Namespace" }, true},
		"replicas that another client may set": {func(c *Change) { c.Objects[0].GivesReplicas = true }, true},
		"a kind that is not watched": {func(c *Change) {
			c.Work.Recalled = holding(v1alpha1.ObjectStatus{Kind: "ConfigMap", Name: "a", Reason: v1alpha1.ReasonNotGranted})
		}, true},
		"another object is of a kind that is not watched": {func(c *Change) {
			c.Work.Recalled = holding(v1alpha1.ObjectStatus{Kind: "Widget", Name: "a", Reason: v1alpha1.ReasonNotGranted})
		}, false},
		"the second object is a Secret": {func(c *Change) { c.Objects = append(c.Objects, ChangedObject{ID: SecretID("s"), UID: uid}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Change{Work: &Work{Recalled: holding(), IsRecorded: true, IsObserved: true},
				Objects: []ChangedObject{{ID: ObjectID{Kind: "ConfigMap", Name: "a"}, UID: uid}}}
			test.change(c)
			if why := c.WhyIntent(); (why != "") != test.intents {
				t.Errorf("intent because of %q, want one: %v", why, test.intents)
			}
		})
	}
}

func TestUnrecordedObjectsAreRememberedUntilTheyAreRecorded(t *testing.T) {
	var all Unrecorded
	a, b, pair := ObjectID{Kind: "ConfigMap", Name: "a"}, ObjectID{Kind: "ConfigMap", Name: "b"}, Pair{Member: "east"}
	of := all.Of(pair)
	of.Add(a)
	of.Add(b)
	if other := all.Of(Pair{Member: "west"}); other.Any() || other.Has(a) {
		t.Error("another pair has the object")
	}
	of.KeepOnly(func(id ObjectID) bool { return id == b })
	if of.Has(a) || !of.Has(b) || !all.Of(pair).Any() {
		t.Error("the memory must have b and not a")
	}
	of.KeepOnly(func(ObjectID) bool { return false })
	if of.Any() || len(all.all) > 0 {
		t.Error("an object is left")
	}
	var none UnrecordedOf
	none.Add(a)
	none.KeepOnly(func(ObjectID) bool { return true })
	if none.Any() || none.Has(a) {
		t.Error("the zero value has an object")
	}
}

func TestAPairWithUnrecordedObjectsNeedsAPass(t *testing.T) {
	leaving, suspended := desired(), desired()
	leaving.Rendering, suspended.Suspended = nil, true
	for name, test := range map[string]struct {
		desired *Desired
		last    Outcome
		needs   bool
	}{
		"after a pass for another state": {desired(), Outcome{}, true},
		"after a pass that failed":       {desired(), Outcome{Desired: desired()}, true},
		"after a pass that was held":     {desired(), Outcome{Desired: desired(), UID: "d", Generation: 1}, false},
		"the pair is suspended":          {suspended, Outcome{}, false},
		"it leaves":                      {leaving, Outcome{}, false},
		"there is no desired state":      {nil, Outcome{}, false},
	} {
		if got := (&History{last: test.last}).NeedsRecord(test.desired, holding(), midnight); got != test.needs {
			t.Errorf("%s: %v", name, got)
		}
	}
}
