// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// as returns a client for the host. The client impersonates this user, with all rights.
func as(user string) client.Client {
	GinkgoHelper()
	config, err := fleet.RESTConfig(provider.Host)
	Expect(err).NotTo(HaveOccurred())
	config.QPS, config.Impersonate.UserName, config.Impersonate.Groups = -1, user, []string{"system:masters"}
	c, err := client.New(config, client.Options{Scheme: fleet.Host.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// edited is a wrapper with one ConfigMap, whose key color several users change.
type edited struct{ w *v1alpha1.Federated }

func newEdited(ctx SpecContext, user, color string) edited {
	GinkgoHelper()
	w := build.Federated("settings").In(newShop(ctx)).To("member-1").With(build.ConfigMap("settings", "color", color)).Obj()
	Expect(as(user).Create(ctx, w)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { remove(ctx, w) })
	e := edited{w}
	e.settled(ctx)
	return e
}

// change updates the wrapper in the name of a user, and retries after a conflict.
func (e edited) change(ctx SpecContext, user string, change func(*v1alpha1.Federated), options ...client.UpdateOption) *v1alpha1.Federated {
	GinkgoHelper()
	c, w := as(user), e.w.DeepCopy()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
			return err
		}
		change(w)
		return c.Update(ctx, w, options...)
	})).To(Succeed())
	return w
}

func color(value string) func(*v1alpha1.Federated) {
	return func(w *v1alpha1.Federated) {
		w.Spec.Objects[0] = build.Raw(build.ConfigMap("settings", "color", value))
	}
}

// paint changes the color in the name of a user, and waits until the member has it.
func (e edited) paint(ctx SpecContext, user, value string) {
	GinkgoHelper()
	e.change(ctx, user, color(value))
	e.settled(ctx)
	Expect(fleet.Member("member-1").field("ConfigMap", e.w.Namespace, "settings", "data", "color")(ctx)).To(Equal(value))
}

func (e edited) settled(ctx SpecContext) {
	GinkgoHelper()
	expectReady(ctx, e.w)
}

// annotation returns the value of the wrapper's annotation AnnotationAuthor, which the webhook writes.
func (e edited) annotation(ctx SpecContext) string {
	GinkgoHelper()
	return reread(ctx, e.w)(Default).Annotations[v1alpha1.AnnotationAuthor]
}

// authors returns the users who wrote each revision, as `hostctl rollout history` reports them: "AUTHOR", or "AUTHOR+USER" if users
// have written the same content again later, and USER was the last of them.
func (e edited) authors(ctx SpecContext) []string {
	GinkgoHelper()
	got := fleet.Hostctl(ctx, "rollout", "history", e.w.Name, "-n", e.w.Namespace, "-o", "json")
	Expect(got.Code).To(BeZero(), got.Stderr)
	list := struct {
		Revisions []struct {
			WrittenBy   string
			RewrittenBy *string
		}
	}{}
	Expect(json.Unmarshal([]byte(got.Stdout), &list)).To(Succeed())
	var all []string
	for _, r := range list.Revisions {
		text := r.WrittenBy
		if r.RewrittenBy != nil {
			text += "+" + *r.RewrittenBy
		}
		all = append(all, text)
	}
	return all
}

// bypass makes the API server skip the mutating webhooks for the wrapper's namespace, until the test calls undo. An API server
// needs some time to use a changed configuration. So bypass sends edits as dry runs until the annotation in their result no longer
// has the user's name: only the webhook writes the name there. undo waits in the same way until the name is there again.
func (e edited) bypass(ctx SpecContext) (undo func()) {
	GinkgoHelper()
	const name, user = "not-in-this-shop", "probe"
	set := func(skip bool) {
		GinkgoHelper()
		c := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}
		edit(ctx, c, func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
			for i := range c.Webhooks {
				conditions := &c.Webhooks[i].MatchConditions
				*conditions = append([]admissionregistrationv1.MatchCondition(nil), *conditions...)
				if n := len(*conditions); n > 0 && (*conditions)[n-1].Name == name {
					*conditions = (*conditions)[:n-1]
				}
				if skip {
					*conditions = append(*conditions, admissionregistrationv1.MatchCondition{Name: name, Expression: fmt.Sprintf("request.namespace != '%s'", e.w.Namespace)})
				}
			}
		})
		tries := 0
		Eventually(ctx, func(SpecContext) bool {
			tries++
			tried := e.change(ctx, user, color(fmt.Sprint("probe-", tries)), client.DryRunAll)
			return strings.Contains(tried.Annotations[v1alpha1.AnnotationAuthor], user)
		}).WithContext(ctx).Should(Equal(!skip))
	}
	set(true)
	done := false
	undo = func() {
		GinkgoHelper()
		if !done {
			set(false)
		}
		done = true
	}
	return undo
}

var _ = Describe("When several users edit a wrapper", func() {
	It("names the author of each revision", func(ctx SpecContext) {
		e := newEdited(ctx, "alice", "red")
		e.paint(ctx, "bob@example.com", "blue")
		agent := "system:serviceaccount:argocd:controller"
		e.paint(ctx, agent, "green")
		Expect(e.authors(ctx)).To(Equal([]string{"alice", "bob@example.com", agent}))

		By("naming the user who writes an earlier content again")
		Expect(fleet.Hostctl(ctx, "rollout", "undo", e.w.Name, "-n", e.w.Namespace, "--to-revision", "1", "--yes")).To(HaveField("Code", 0))
		Eventually(ctx, fleet.Member("member-1").field("ConfigMap", e.w.Namespace, "settings", "data", "color")).Should(Equal("red"))
		e.settled(ctx)
		_, admin, _ := strings.Cut(e.annotation(ctx), " ")
		Expect(admin).NotTo(Or(BeEmpty(), Equal("alice")))
		Expect(e.authors(ctx)).To(Equal([]string{"alice+" + admin, "bob@example.com", agent}))
		e.paint(ctx, "carol", "blue")
		Expect(e.authors(ctx)).To(Equal([]string{"alice+" + admin, "bob@example.com+carol", agent}))

		By("leaving the name on the host")
		there := fleet.Member("member-1").fetch(ctx, "ConfigMap", e.w.Namespace, "settings")
		delivery := fleet.Member("member-1").delivery(ctx, e.w)
		for _, annotations := range []map[string]string{there.GetAnnotations(), delivery.Annotations} {
			Expect(annotations).NotTo(HaveKey(v1alpha1.AnnotationAuthor))
			Expect(fmt.Sprint(annotations)).NotTo(ContainSubstring("carol"))
		}
	})

	It("keeps the author when an edit leaves the objects as they are", func(ctx SpecContext) {
		e := newEdited(ctx, "alice", "red")
		alices := e.annotation(ctx)
		Expect(alices).To(HaveSuffix(" alice"))
		e.change(ctx, "bob", func(w *v1alpha1.Federated) { w.Labels = map[string]string{"team": "b"} })
		e.change(ctx, "bob", func(w *v1alpha1.Federated) { w.Finalizers = nil }) // the manager adds the finalizer again
		Eventually(ctx, reread(ctx, e.w)).Should(HaveField("Finalizers", ContainElement(v1alpha1.Finalizer)))
		e.change(ctx, "bob", func(w *v1alpha1.Federated) { w.Spec.Placement.Clusters.Names = []string{"member-1", "member-2"} })
		e.settled(ctx)
		e.change(ctx, "bob", func(w *v1alpha1.Federated) {
			w.Annotations[v1alpha1.AnnotationAuthor] = strings.Replace(alices, "alice", "bob", 1)
		})
		Expect(e.annotation(ctx)).To(Equal(alices))
		e.change(ctx, "bob", func(w *v1alpha1.Federated) { delete(w.Annotations, v1alpha1.AnnotationAuthor) })
		Expect(e.annotation(ctx)).To(Equal(alices))
		Expect(e.authors(ctx)).To(Equal([]string{"alice"}))
	})

	It("names nobody for an edit that the webhook did not see, whatever the annotation says", func(ctx SpecContext) {
		e := newEdited(ctx, "alice", "red")
		undo := e.bypass(ctx)
		DeferCleanup(undo)
		e.paint(ctx, "bob", "blue")
		Expect(e.annotation(ctx)).To(HaveSuffix(" alice"), "it is still that of the content before")
		e.change(ctx, "mallory", func(w *v1alpha1.Federated) {
			color("green")(w)
			w.Annotations[v1alpha1.AnnotationAuthor] = strings.Replace(w.Annotations[v1alpha1.AnnotationAuthor], "alice", "root", 1)
		})
		e.settled(ctx)
		Expect(e.annotation(ctx)).To(HaveSuffix(" root"))
		Expect(e.authors(ctx)).To(Equal([]string{"alice", "", ""}))

		By("calling the webhook again")
		undo()
		e.paint(ctx, "bob", "yellow")
		Expect(e.authors(ctx)).To(Equal([]string{"alice", "", "", "bob"}))
	})

	It("conflicts with no manifest, also where one carries the annotation", func(ctx SpecContext) {
		e := newEdited(ctx, "alice", "red")
		manifest := func(value string) *unstructured.Unstructured {
			obj := build.Federated(e.w.Name).In(e.w.Namespace).To("member-1").With(build.ConfigMap("settings", "color", value)).Obj()
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
			Expect(err).NotTo(HaveOccurred())
			delete(content, "status")
			unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
			m := &unstructured.Unstructured{Object: content}
			m.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Federated"))
			return m
		}
		agent := "system:serviceaccount:argocd:controller"
		apply := func(m *unstructured.Unstructured, options ...client.ApplyOption) {
			GinkgoHelper()
			Expect(as(agent).Apply(ctx, client.ApplyConfigurationFromUnstructured(m.DeepCopy()), append(options, client.FieldOwner("argocd"))...)).To(Succeed())
		}
		exported := manifest("blue")
		exported.SetAnnotations(map[string]string{v1alpha1.AnnotationAuthor: e.annotation(ctx)})
		apply(exported, client.ForceOwnership)
		e.settled(ctx)
		Expect(e.authors(ctx)).To(Equal([]string{"alice", agent}))

		By("changing nothing when it is applied again")
		Eventually(ctx, func(SpecContext) bool { // a try fails if the manager writes a status between the two reads of the resourceVersion
			before := reread(ctx, e.w)(Default).ResourceVersion
			apply(exported)
			Expect(e.annotation(ctx)).To(HaveSuffix(" " + agent))
			return e.w.ResourceVersion == before
		}).WithContext(ctx).Should(BeTrue())

		By("applying it after another user's edit")
		e.paint(ctx, "bob", "green")
		apply(exported, client.ForceOwnership)
		e.settled(ctx)
		Expect(e.authors(ctx)).To(Equal([]string{"alice", agent, "bob"}))

		By("applying another manifest with kubectl, from the client's side")
		mine := manifest("yellow")
		mine.SetAnnotations(map[string]string{v1alpha1.AnnotationAuthor: "mallory"})
		text, err := json.Marshal(mine)
		Expect(err).NotTo(HaveOccurred())
		for range 2 {
			Expect(fleet.KubectlWith(ctx, string(text), "apply", "--as", "carol", "--as-group", "system:masters", "-f", "-")).To(HaveField("Code", 0))
			Expect(e.annotation(ctx)).To(HaveSuffix(" carol"))
			Expect(e.w.Annotations).To(HaveKey(corev1.LastAppliedConfigAnnotation))
		}
		e.settled(ctx)
		Expect(e.authors(ctx)).To(Equal([]string{"alice", agent, "bob", "carol"}))
	})
})
