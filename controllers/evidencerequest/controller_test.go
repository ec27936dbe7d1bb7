// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"errors"
	"strconv"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	manifests "github.com/fairlead-dev/fairlead/config"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/federate/memberreport"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

func TestARequestIsAnsweredUntilItExpires(t *testing.T) {
	s := newSite(t)
	name := s.asked("mine", nil)
	s.pass(name)
	s.check("the member has not answered", name, v1alpha1.ReasonRequestPending, "collector")
	if got := s.requests.set["east web"]; len(got) != 1 || got[0].Name != "a" || got[0].Type != v1alpha1.EvidenceEvents {
		t.Fatalf("%+v", s.requests.set)
	}
	s.index.Put(s.delivery("first"))
	if again := s.pass(name); again <= 0 || again > reasonsEvery {
		t.Errorf("the write of the answer is due after %s", again)
	}
	s.clock.Step(reasonsEvery)
	s.pass(name)
	if got := s.check("the member has answered", name, v1alpha1.ReasonAnswered); len(got.Events) != 1 || got.Events[0].Message != "first" || got.Cluster != "east" || got.Object.Name != "a" || got.ObservedTime.IsZero() {
		t.Errorf("%+v", got)
	}
	s.index.Put(s.delivery("second"))
	again := s.pass(name)
	if got := s.check("the answer changes", name, v1alpha1.ReasonAnswered); got.Events[0].Message != "first" || again <= 0 || again > answersEvery {
		t.Errorf("after %s: %+v", again, got)
	}
	s.clock.Step(answersEvery)
	writes := s.writes
	s.pass(name)
	s.pass(name)
	if got := s.check("five seconds later", name, v1alpha1.ReasonAnswered); got.Events[0].Message != "second" || s.writes != writes+1 {
		t.Errorf("%d writes: %+v", s.writes-writes, got)
	}
	if s.reads != 1 {
		t.Errorf("the loop has read the report %d times", s.reads)
	}

	s.requests.problem = &rules.Problem{Reason: v1alpha1.ReasonUnreachable, Message: "no route"}
	s.clock.Step(answersEvery)
	s.pass(name)
	if got := s.check("the member does not answer any more", name, v1alpha1.ReasonUnreachable, "no route"); len(got.Events) != 1 {
		t.Errorf("the evidence has not stayed: %+v", got)
	}

	s.clock.Step(10 * time.Minute)
	s.pass(name)
	if status, there := s.status(name); there || len(s.requests.set) > 0 {
		t.Errorf("it has expired: %+v, %v", status, s.requests.set)
	}
}

func TestADeletedReportTakesItsRequestOutOfTheDelivery(t *testing.T) {
	s := newSite(t)
	one, two := s.asked("one", nil), s.asked("two", func(r *v1alpha1.MemberReportSpec) { r.Object.Name = "b" })
	s.pass(one)
	s.pass(two)
	if got := s.requests.set["east web"]; len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	s.index.Put(s.delivery("x"))
	if err := s.Delete(t.Context(), &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: one.Namespace, Name: one.Name}}); err != nil {
		t.Fatal(err)
	}
	s.pass(one)
	if got := s.requests.set["east web"]; len(got) != 1 || got[0].Name != "b" {
		t.Errorf("%+v", got)
	}
	// The report is created again, with another object. The loop reads it again.
	one = s.asked("one", func(r *v1alpha1.MemberReportSpec) { r.Object.Name = "c" })
	s.pass(one)
	if got := s.requests.set["east web"]; len(got) != 2 || got[1].Name != "c" {
		t.Errorf("%+v", got)
	}
}

func TestAReportWithoutAPlaceWaitsForOne(t *testing.T) {
	s := newSite(t)
	var names []types.NamespacedName
	for _, object := range []string{"a", "b", "c", "d", "e"} {
		names = append(names, s.asked("r"+object, func(r *v1alpha1.MemberReportSpec) { r.Object.Name = object }))
		s.pass(names[len(names)-1])
	}
	s.check("the Delivery has four requests", names[4], v1alpha1.ReasonRequestLimitReached, "4 requests on member east")
	if err := s.Delete(t.Context(), &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "ra"}}); err != nil {
		t.Fatal(err)
	}
	s.pass(names[0])
	s.clock.Step(time.Second)
	s.pass(names[4])
	s.check("one of them has ended", names[4], v1alpha1.ReasonRequestPending)
}

func TestAfterARestartTheReportsGoOn(t *testing.T) {
	s := newSite(t)
	name := s.asked("mine", nil)
	s.pass(name)
	answered := s.delivery("while the manager was away")
	s.restart()
	s.index.Put(answered) // before the loop knows the report
	s.pass(name)
	if got := s.requests.set["east web"]; !rules.SameList(got, answered.Spec.Requests) {
		t.Fatalf("%+v", got)
	}
	// The loop sets the requests again. The write changes nothing, but the API server's response has the Delivery with the answers.
	s.requests.listener(deliveries.KeyOf(v1alpha1.Identity(s.wrapper)), "east", answered)
	s.clock.Step(time.Second)
	s.pass(name)
	if got := s.check("after the restart", name, v1alpha1.ReasonAnswered); got.Events[0].Message != "while the manager was away" {
		t.Errorf("%+v", got)
	}
	s.restart()
	s.index.Put(answered)
	s.pass(name)
	s.requests.listener(deliveries.KeyOf(v1alpha1.Identity(s.wrapper)), "east", answered)
	s.clock.Step(time.Second)
	s.pass(name)
	if s.writes > 2 { // pending, and answered again
		t.Errorf("%d writes of a report that has not changed", s.writes)
	}
}

func TestRequestsWithoutAReportLeaveTheDelivery(t *testing.T) {
	s := newSite(t)
	name := s.asked("mine", nil)
	s.pass(name)
	left := s.delivery("")
	s.restart()
	s.index.Put(left)
	on := pair{deliveries.KeyOf(v1alpha1.Identity(s.wrapper)), "east"}
	clk := clocktesting.NewFakeClock(time.Now())
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[item](), workqueue.TypedRateLimitingQueueConfig[item]{Clock: clk})
	defer queue.ShutDown()
	if left := s.loop.pairs.withLeftovers(); len(left) != 1 || left[0] != on {
		t.Fatalf("the loop begins with %+v", left)
	}
	if err := s.loop.start(t.Context(), queue); err != nil || queue.Len() > 0 {
		t.Fatalf("%d items before the reports are read, %v", queue.Len(), err)
	}
	clk.Step(leftoverAfter)
	if first, _ := queue.Get(); first.pair != on {
		t.Fatalf("the queue gets %+v", first)
	}
	if _, err := s.loop.Reconcile(t.Context(), item{pair: on}); err != nil || s.requests.sets != 1 {
		t.Errorf("%d writes, %v", s.requests.sets, err)
	}
	s.pass(name)
	if _, err := s.loop.Reconcile(t.Context(), item{pair: on}); err != nil || len(s.requests.set) != 1 {
		t.Errorf("a pair with a report: %v, %v", s.requests.set, err)
	}
}

func TestAHostileMemberCannotFillTheQueueWithLeftovers(t *testing.T) {
	s := newSite(t)
	clk := clocktesting.NewFakeClock(time.Now())
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[item](), workqueue.TypedRateLimitingQueueConfig[item]{Clock: clk})
	defer queue.ShutDown()
	if err := s.loop.start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	for n := range maxLeftovers + 10 {
		orphan := s.delivery("")
		orphan.Spec.Wrapper.Name = "orphan" + strconv.Itoa(n)
		orphan.Name = deliveries.KeyOf(orphan.Spec.Wrapper).Delivery()
		orphan.Spec.Requests = []v1alpha1.EvidenceRequest{{Kind: "ConfigMap", Name: "a", Type: v1alpha1.EvidenceEvents, Expires: metav1.NewTime(s.clock.Now().Add(time.Minute))}}
		s.index.Put(orphan)
	}
	left := s.loop.pairs.withLeftovers()
	if len(left) != maxLeftovers {
		t.Errorf("the loop remembers %d pairs, want at most %d", len(left), maxLeftovers)
	}
	for _, on := range left {
		if _, err := s.loop.Reconcile(t.Context(), item{pair: on}); err != nil {
			t.Fatal(err)
		}
	}
	if s.requests.sets > 0 || len(s.loop.pairs.withLeftovers()) > 0 {
		t.Errorf("the loop sets the requests of %d orphans, and remembers %d", s.requests.sets, len(s.loop.pairs.withLeftovers()))
	}
}

func TestWhatIsWrongWithARequestStandsInItsStatus(t *testing.T) {
	s := newSite(t)
	other := newSite(t)
	classes := build.ClusterFederated("classes-" + s.namespace).With(build.StorageClass("fast")).To("east").Obj()
	if err := s.Create(t.Context(), classes); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*v1alpha1.MemberReportSpec)
		reason string
	}{
		"no-wrapper": {func(r *v1alpha1.MemberReportSpec) { r.Wrapper.Name = "other" }, v1alpha1.ReasonWrapperNotFound},
		"of-another": {func(r *v1alpha1.MemberReportSpec) { r.Wrapper.UID = other.wrapper.UID }, v1alpha1.ReasonWrapperNotFound},
		"cluster-scoped": {func(r *v1alpha1.MemberReportSpec) {
			r.Wrapper = v1alpha1.WrapperReference{Kind: v1alpha1.KindClusterFederated, Name: classes.Name, UID: classes.UID}
			r.Object = v1alpha1.ReportedObject{Group: "storage.k8s.io", Kind: "StorageClass", Name: "fast"}
		}, v1alpha1.ReasonWrapperNotFound},
		"no-object":          {func(r *v1alpha1.MemberReportSpec) { r.Object.Name = "z" }, v1alpha1.ReasonObjectNotFound},
		"secret":             {func(r *v1alpha1.MemberReportSpec) { r.Object.Kind = "Secret" }, v1alpha1.ReasonSecretRequested},
		"no-member":          {func(r *v1alpha1.MemberReportSpec) { r.Cluster = "nowhere" }, v1alpha1.ReasonClusterNotFound},
		"member-without-web": {func(r *v1alpha1.MemberReportSpec) { r.Cluster = "west" }, v1alpha1.ReasonClusterNotPlaced},
	} {
		if name == "member-without-web" {
			west := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "west"}, Spec: v1alpha1.MemberClusterSpec{Endpoint: "https://192.0.2.1"}}
			west.Spec.CredentialsRef.Name = "west"
			if err := s.Create(t.Context(), west); client.IgnoreAlreadyExists(err) != nil {
				t.Fatal(err)
			}
		}
		key := s.asked(name, test.change)
		s.pass(key)
		s.check(name, key, test.reason)
	}
	if len(s.requests.set) > 0 {
		t.Errorf("a request was sent: %+v", s.requests.set)
	}
	// The wrapper leaves the member of an answered request.
	key := s.asked("placed", nil)
	s.pass(key)
	s.place("elsewhere")
	s.clock.Step(time.Second)
	s.pass(key)
	s.check("the wrapper has left", key, v1alpha1.ReasonClusterNotPlaced)
	if len(s.requests.set) > 0 {
		t.Errorf("the request stays: %+v", s.requests.set)
	}
}

// The loop recognizes a report without a request, which the manager writes, by its name. So it does not read such a report.
func TestReportsOfTheManagerAreNotRead(t *testing.T) {
	for name, want := range map[string]bool{memberreport.Name("web", "5f3a9c0e71"): false, "web.5f3a9c0e71": false, "web-x7k2p": true, "a.b.c": true} {
		if got := !memberreport.HasKey(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	s := newSite(t)
	plain := &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "plain"}, Spec: v1alpha1.MemberReportSpec{
		Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: s.wrapper.UID}}}
	if err := s.Create(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.pass(client.ObjectKeyFromObject(plain))
	}
	if s.reads != 1 || s.writes != 0 || s.requests.sets != 0 {
		t.Errorf("%d reads, %d writes", s.reads, s.writes)
	}
}

// A person with the role fairlead-oncall in one namespace sees nothing of another.
func TestAPersonOnCallSeesNothingOfAnotherNamespace(t *testing.T) {
	shop, other := newSite(t), newSite(t)
	objects, err := manifests.Objects(manifests.RBAC)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		if obj.GetName() == "fairlead-oncall" {
			if err := shop.Create(t.Context(), obj); client.IgnoreAlreadyExists(err) != nil {
				t.Fatal(err)
			}
		}
	}
	user := "oncall-of-" + shop.namespace
	if err := shop.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: shop.namespace, Name: "oncall"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-oncall"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}}); err != nil {
		t.Fatal(err)
	}
	as := rest.CopyConfig(config)
	as.Impersonate = rest.ImpersonationConfig{UserName: user}
	person, err := client.New(as, client.Options{Scheme: member.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	report := func(namespace, name string, uid types.UID) *v1alpha1.MemberReport {
		return &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.MemberReportSpec{
			Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: uid}, Request: v1alpha1.EvidenceEvents, Cluster: "east",
			Object: v1alpha1.ReportedObject{Kind: "ConfigMap", Name: "a"}, Expires: metav1.NewTime(time.Now().Add(time.Minute))}}
	}
	deadline := time.Now().Add(30 * time.Second)
	for err = errNotYet; err != nil && time.Now().Before(deadline); { // the authorizer sees a new binding after a moment
		err = person.Create(t.Context(), report(shop.namespace, "own", shop.wrapper.UID))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := person.Create(t.Context(), report(other.namespace, "theirs", other.wrapper.UID)); !apierrors.IsForbidden(err) {
		t.Errorf("a report in another namespace: %v", err)
	}
	if err := person.Create(t.Context(), report(shop.namespace, "stolen", other.wrapper.UID)); err != nil {
		t.Fatal(err)
	}
	stolen := types.NamespacedName{Namespace: shop.namespace, Name: "stolen"}
	shop.pass(stolen)
	status := shop.check("the uid of another namespace's wrapper", stolen, v1alpha1.ReasonWrapperNotFound)
	if len(status.Events) > 0 || len(shop.requests.set) > 0 {
		t.Errorf("%+v, %v", status, shop.requests.set)
	}
	// A person must not write the status of a report.
	own := report(shop.namespace, "own", shop.wrapper.UID)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"message":"x"}}`))
	if err := person.Status().Patch(t.Context(), own, patch); !apierrors.IsForbidden(err) {
		t.Errorf("a person writes the status: %v", err)
	}
	if err := person.Delete(t.Context(), report(shop.namespace, "own", shop.wrapper.UID)); err != nil {
		t.Error(err)
	}
}

var errNotYet = errors.New("not tried yet")
