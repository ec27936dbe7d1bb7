// SPDX-License-Identifier: Apache-2.0

package push

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// approved adds to the desired state an Approval to overwrite the Delivery as it is at this moment.
func (s *site) approved(w *Desired) *Desired {
	d := s.delivery()
	w.Overwrites = &v1alpha1.DeliveryVersion{UID: d.UID, Generation: d.Generation}
	return w
}

func TestAPairThatIsHeldNamesTheDeliveryAndTheCommand(t *testing.T) {
	s := newSite(t)
	s.wrapper.Generation = 5
	s.mustDeliver(s.want(configMap("a", "5")))
	s.wrapper.Generation = 3
	d := s.delivery()
	want := &v1alpha1.DeliveryVersion{UID: d.UID, Generation: d.Generation}
	command := "hostctl recover web -n " + s.namespace
	behind := s.mustFail(s.want(configMap("a", "3")), v1alpha1.ReasonHostBehindMember, command)
	s.wrapper.UID += "-again"
	replaced := s.mustFail(s.want(configMap("a", "3")), v1alpha1.ReasonWrapperReplaced, command)
	for _, out := range []plan.Outcome{behind, replaced} {
		if diff := cmp.Diff(want, out.Overtaken); diff != "" {
			t.Errorf("%s names the Delivery (-want +got):\n%s", out.Reason, diff)
		}
		if at := strings.Index(out.Message, command); at+len(command) > 200 {
			t.Errorf("the command is too far to the right, a status line ends after 256 bytes: %s", out.Message)
		}
	}
}

func TestAnApprovalBringsAMemberBackToTheHostsState(t *testing.T) {
	s := newSite(t)
	s.wrapper.Generation = 5
	s.mustDeliver(s.want(configMap("a", "5"), configMap("b", "5")))
	a := s.configMap("a").UID

	s.wrapper.Generation = 3
	w := s.approved(s.want(configMap("a", "3")))
	s.mustDeliver(w)
	if cm := s.configMap("a"); cm.UID != a || cm.Data["value"] != "3" || s.configMap("b") != nil {
		t.Errorf("a is %v of uid %s (was %s), b is %v", cm.Data, cm.UID, a, s.configMap("b"))
	}
	if got := s.delivery().Spec.Wrapper.Generation; got != 3 {
		t.Errorf("the Delivery has generation %d", got)
	}
	// The host is restored from a backup once more. The same Approval, which the backup may contain, must not allow a
	// second overwrite.
	s.wrapper.Generation = 5
	s.mustDeliver(s.want(configMap("a", "other")))
	s.wrapper.Generation = 3
	again := s.want(configMap("a", "3"))
	again.Overwrites = w.Overwrites
	s.wire.begin(nil)
	s.mustFail(again, v1alpha1.ReasonHostBehindMember)
	if len(s.wire.writes()) > 0 {
		t.Errorf("writes: %v", s.wire.writes())
	}
}

// The objects are equal, so only the Delivery is written. Without that write, the next pass would hold the pair again.
func TestAnApprovedOverwriteIsRecordedEvenIfTheObjectsAreEqual(t *testing.T) {
	s := newSite(t)
	s.wrapper.Generation = 5
	s.mustDeliver(s.want(configMap("a", "1")))
	s.wrapper.Generation = 3
	s.mustDeliver(s.approved(s.want(configMap("a", "1"))))
	s.mustDeliver(s.want(configMap("a", "1")))
}

func TestAnApprovalTakesOverTheObjectsOfAnEarlierWrapper(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1"), configMap("b", "1")))
	a := s.configMap("a").UID
	s.wrapper.UID += "-again"
	s.mustFail(s.want(configMap("a", "2")), v1alpha1.ReasonWrapperReplaced)

	s.mustDeliver(s.approved(s.want(configMap("a", "2"))))
	cm := s.configMap("a")
	if cm.UID != a || cm.Data["value"] != "2" || cm.Labels[v1alpha1.LabelUID] != string(s.wrapper.UID) {
		t.Errorf("a: uid %s (was %s), %v, %v", cm.UID, a, cm.Data, cm.Labels)
	}
	if s.configMap("b") != nil {
		t.Error("b still exists, and the wrapper does not list it")
	}
	if diff := cmp.Diff([]string{"ConfigMap a Applied"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

// The push of the first wrapper ended after it had created b and before it recorded b's uid. The next wrapper of the
// same name does not list b.
func TestARemovalFindsAnObjectOfAnEarlierWrappersInterruptedPush(t *testing.T) {
	for name, tc := range map[string]struct {
		changed, stays bool
	}{
		"the object is the listed one":                      {},
		"the object has another rendering, of another host": {changed: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			interrupted := false
			s.wire.begin(func(_ int, req *http.Request) fate {
				switch {
				case interrupted:
					return lost
				case nameOf(req) == "PATCH configmaps/b":
					interrupted = true
					return unanswered
				}
				return through
			})
			if _, err := s.push(s.want(configMap("a", "1"), configMap("b", "1"))); err == nil || s.configMap("b") == nil {
				t.Fatalf("the push was not interrupted after b: %v", err)
			}
			s.connect(config)
			if tc.changed {
				s.edit("v1", "ConfigMap", "b", "another-host", func(b *unstructured.Unstructured) {
					b.SetAnnotations(map[string]string{
						v1alpha1.AnnotationWrapper: b.GetAnnotations()[v1alpha1.AnnotationWrapper], v1alpha1.AnnotationRendering: "sha256:another",
						v1alpha1.AnnotationObject: b.GetAnnotations()[v1alpha1.AnnotationObject],
					})
				})
			}
			s.wrapper.UID += "-again"
			s.mustDeliver(s.approved(s.want(configMap("a", "1"))))
			if is := s.configMap("b") != nil; is != tc.stays {
				t.Errorf("b exists: %t", is)
			}
		})
	}
}

// An earlier wrapper of the same name left an object on the member under KeepAll. The later wrapper lists an equal
// object, but never writes it, because the member has closed the namespace.
func TestAWrapperDoesNotRemoveAnEarlierWrappersObjectThatItNeverWrote(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	leaves := s.leave()
	leaves.OnDelete = v1alpha1.KeepAll
	s.mustDeliver(leaves)
	s.wrapper.UID += "-again"
	s.label(v1alpha1.LabelMade, "")
	s.mustFail(s.want(configMap("a", "1")), v1alpha1.ReasonNamespaceNotOpen)
	s.mustDeliver(s.leave())
	if s.configMap("a") == nil {
		t.Error("the object is gone")
	}
}

func TestAnApprovalOfAnotherDeliveryDoesNotCount(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.DeliveryVersion){
		"it has a later generation now":         func(v *v1alpha1.DeliveryVersion) { v.Generation-- },
		"it has another uid now":                func(v *v1alpha1.DeliveryVersion) { v.UID = "another" },
		"the Approval names a later generation": func(v *v1alpha1.DeliveryVersion) { v.Generation++ },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(configMap("a", "1")))
			s.wrapper.UID += "-again"
			w := s.approved(s.want(configMap("a", "2")))
			change(w.Overwrites)
			s.wire.begin(nil)
			s.mustFail(w, v1alpha1.ReasonWrapperReplaced)
			if len(s.wire.writes()) > 0 {
				t.Errorf("writes: %v", s.wire.writes())
			}
		})
	}
}

func TestADeliveryThatThisHostHasNotSealedIsNotTakenOver(t *testing.T) {
	key := []byte("the key of the tests")
	for name, seals := range map[string]deliveries.Seals{
		"no seal":                  {},
		"sealed with another key":  deliveries.NewSeals([]byte("another"), "host", "east"),
		"sealed by another host":   deliveries.NewSeals(key, "other", "east"),
		"copied from another site": deliveries.NewSeals(key, "host", "west"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			mine := s.seals
			s.seals = seals
			s.mustDeliver(s.want(configMap("a", "1")))
			s.seals, s.wrapper.UID = mine, s.wrapper.UID+"-again"
			s.wire.begin(nil)
			s.mustFail(s.want(configMap("a", "1")), v1alpha1.ReasonWrapperReplaced, "not sealed")
			if len(s.wire.writes()) > 0 {
				t.Errorf("writes: %v", s.wire.writes())
			}
			s.mustDeliver(s.approved(s.want(configMap("a", "1")))) // a person allows the overwrite that the pass refused
		})
	}
}

// An earlier version wrote the Delivery without a seal. The manager adds the seal with the next change of the wrapper,
// and not by a write of its own.
func TestAMissingSealAloneCausesNoWrite(t *testing.T) {
	s := newSite(t)
	mine := s.seals
	s.seals = deliveries.Seals{}
	s.mustDeliver(s.want(configMap("a", "1")))
	s.seals = mine
	s.wire.begin(nil)
	s.mustDeliver(s.want(configMap("a", "1")))
	if len(s.wire.writes()) > 0 {
		t.Errorf("writes: %v", s.wire.writes())
	}
	s.mustDeliver(s.want(configMap("a", "2")))
	if d := s.delivery(); !mine.Verify(d.Spec.Seal, &d.Spec.Wrapper, d.Spec.Target) {
		t.Errorf("not sealed: %q", d.Spec.Seal)
	}
}
