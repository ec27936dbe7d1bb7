// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// died records the state of the members when the program died. If s.steady is set, the test fails later when an object
// that existed at the death has another uid, which means that the manager deleted and created the object.
func (a *author) died(s *scenario) {
	a.t.Helper()
	ctx := a.t.Context()
	var err error
	if a.atDeath, err = a.look(ctx); err != nil {
		a.t.Fatal(err)
	}
	if err := a.checkOrder(ctx, a.last); err != nil {
		a.t.Fatal(err)
	}
	if !aManagerLives() { // a living manager may delete an object, and drop its entry, between the reads of the two
		a.allIsListed()
	}
	a.kept, a.recordedAtDeath = nil, a.recorded()
	if s.stays != nil {
		a.kept = s.stays(a.atDeath)
	}
	if !s.steady {
		return
	}
	for member := range a.members {
		found, err := a.objectsOn(ctx, member)
		if err != nil {
			a.t.Fatal(err)
		}
		a.mu.Lock()
		for _, o := range found {
			a.uids[member+"/"+o.GetName()] = o.GetUID()
		}
		a.mu.Unlock()
	}
}

// approve writes an Approval for each pair of wrapper web that the manager holds. It fails the test if the manager has changed
// an object of web on the member since the death: it must not change the objects of a pair that it holds.
func (a *author) approve(ctx context.Context, is fleetState) error {
	w := a.wrapper()
	if err := a.host.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, line := range w.Status.Clusters {
		if line.State != v1alpha1.StateHeld || line.Delivery == nil || a.approved[*line.Delivery] {
			continue
		}
		if diff := cmp.Diff(besideOthers(a.atDeath[line.Name].Objects), besideOthers(is[line.Name].Objects)); diff != "" {
			a.t.Errorf("the manager changed objects on member %s although it holds their pair (-at the death +now):\n%s", line.Name, diff)
		}
		err := a.host.Create(ctx, &v1alpha1.Approval{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.shop, GenerateName: "overwrite-"},
			Spec: v1alpha1.ApprovalSpec{
				Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: w.Name, UID: w.UID},
				Allow:   v1alpha1.AllowOverwrite, Clusters: []string{line.Name},
				Overwrites: []v1alpha1.OverwrittenDelivery{{Cluster: line.Name, UID: line.Delivery.UID, Generation: line.Delivery.Generation}},
			},
		})
		if err != nil {
			return err
		}
		a.approved[*line.Delivery] = true
	}
	return nil
}

// checkAsked checks that the manager held a pair if, and only if, it had to. It has to hold the pair if both of these are
// true: the Delivery was written before a restore of the host or for an earlier wrapper, and the Delivery lists other
// objects than the wrapper has. In a scenario whose field omits is set, the manager also has to hold the pair if the
// Delivery records other contents of the same objects than the wrapper has.
func (a *author) checkAsked(s *scenario, last *desiredState) {
	a.t.Helper()
	must := s.omits && (a.recordedAtDeath == a.settled) == (last == s.during[0])
	for member, state := range a.atDeath {
		listed, isOfGone := make(map[string]bool), s.restored || s.unmadeDead
		for _, entry := range state.Entries {
			name, _, _ := strings.Cut(entry, " ")
			if strings.Contains(name, "/") {
				continue // an entry of another wrapper
			}
			listed[name] = true
			isOfGone = isOfGone || strings.HasSuffix(entry, ofGone)
		}
		if last == nil || !isOfGone || len(listed) == 0 || !slices.Contains(last.members, member) {
			continue
		}
		for name := range last.objects {
			must = must || !listed[name]
			delete(listed, name)
		}
		must = must || len(listed) > 0
	}
	if asked := len(a.approved) > 0; asked != must {
		a.t.Errorf("the manager held a pair until the author approved: %t, want %t; at the death the members had %s", asked, must, a.atDeath)
	}
}

// recorded returns the rendering that the Delivery on east records, or "" if there is no Delivery or its field
// spec.target is not set.
func (a *author) recorded() string {
	a.t.Helper()
	d := a.deliveryOf(web)
	if err := client.IgnoreNotFound(a.members["east"].Get(a.t.Context(), client.ObjectKeyFromObject(d), d)); err != nil {
		a.t.Fatal(err)
	}
	if d.Spec.Target == nil {
		return ""
	}
	return d.Spec.Target.Rendering
}

// besideOthers returns the objects of a fleetState without those of wrappers other than web, which are no matter of the held
// pair: the manager may go on with them. It removes the name of the wrapper from each, because web may have been made again.
func besideOthers(objects []string) []string {
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		name, marks, _ := strings.Cut(o, " of ")
		if wrapper, _, _ := strings.Cut(marks, ","); wrapper == "" || wrapper == web || wrapper == gone {
			names = append(names, name)
		}
	}
	return names
}

// delete deletes the wrapper web. With propagation policy Foreground, it waits until the garbage collector has deleted
// the revisions.
func (a *author) delete() {
	a.t.Helper()
	if !a.foreground {
		if err := a.host.Delete(a.t.Context(), a.wrapper()); err != nil {
			a.t.Fatal(err)
		}
		return
	}
	if err := a.host.Delete(a.t.Context(), a.wrapper(), client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		a.t.Fatal(err)
	}
	a.revisionsGo()
}

// revisionsGo waits until the host's garbage collector has deleted the revisions of the deleted wrapper web.
func (a *author) revisionsGo() {
	a.t.Helper()
	a.eventually(a.t, "the revisions are gone", func(ctx context.Context) string {
		list := &appsv1.ControllerRevisionList{}
		if err := a.host.List(ctx, list, client.InNamespace(a.shop)); err != nil {
			return err.Error()
		}
		for i := range list.Items {
			if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil && owner.Name == web {
				return fmt.Sprintf("revision %s still exists", list.Items[i].Name)
			}
		}
		return ""
	})
}

// unmake removes the finalizers of the wrapper web and deletes it, so the manager cannot clean up. When the author writes
// the wrapper again, it has another uid.
func (a *author) unmake() {
	a.t.Helper()
	ctx := a.t.Context()
	err := a.host.Patch(ctx, a.wrapper(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	if err == nil {
		err = a.host.Delete(ctx, a.wrapper())
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.revisionsGo()
}

// refusalMessage is the message of a member that refuses to write a Delivery.
const refusalMessage = "this Delivery stays as it is"

// refuse makes the members answer the program's writes of Deliveries with 403 until the test calls accept. With
// refusesRecords, the members refuse only the writes that come after the first write of ConfigMap a. Writes of a
// Delivery's status always pass. If held is not nil, it delays the writes of Deliveries that the members do not refuse.
func (a *author) refuse(what refusal, held *heldPass) (accept func()) {
	written := &atomic.Bool{}
	var refuse misbehavior = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/deliveries") {
			if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/"+a.shop+"/configmaps/a") {
				written.Store(true)
			}
			next.ServeHTTP(w, r)
			return
		}
		ofStatus := strings.HasSuffix(r.URL.Path, "/status")
		if what == 0 || what == refusesRecords && !written.Load() || ofStatus {
			if held != nil && !ofStatus {
				held.hold(r.Context())
			}
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":%q}`, refusalMessage)
	}
	accept = func() {
		for _, p := range a.proxies {
			p.misbehavior.Store(nil)
		}
	}
	for _, p := range a.proxies {
		p.misbehavior.Store(&refuse)
	}
	a.t.Cleanup(accept)
	return accept
}

// orphaned returns "" if east's MemberCluster reports the Delivery of web as an orphan.
func (a *author) orphaned(ctx context.Context) string {
	east := &v1alpha1.MemberCluster{}
	if err := a.host.Get(ctx, client.ObjectKey{Name: "east"}, east); err != nil {
		return err.Error()
	}
	if !slices.Contains(east.Status.Orphans.Names, a.deliveryOf(web).Name) {
		return fmt.Sprintf("the orphans are %+v", east.Status.Orphans)
	}
	return ""
}
