// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

const job = `{apiVersion: batch/v1, kind: Job, metadata: {name: j%s}, spec: {suspend: true, template: {spec: {restartPolicy: Never, ` +
	`containers: [{name: c, image: %s}]}}}}`

func TestAnImmutableFieldIsReportedAndDelaysNoOtherObject(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1"), fmt.Sprintf(job, "", "one")))
	uid := s.get("batch/v1", "Job", "j").GetUID()
	w := s.want(configMap("a", "2"), fmt.Sprintf(job, "", "two"))
	out := s.mustFail(w, v1alpha1.ReasonImmutableField, "Job j", "spec.template", v1alpha1.AnnotationReplace)
	if out.State != v1alpha1.StateStalled || s.get("batch/v1", "Job", "j").GetUID() != uid {
		t.Errorf("state %s", out.State)
	}
	if got := s.configMap("a").Data["value"]; got != "2" {
		t.Errorf("the ConfigMap has %q", got)
	}
	// The author undoes the change.
	s.mustDeliver(s.want(configMap("a", "2"), fmt.Sprintf(job, "", "one")))
}

func TestAnObjectWithTheReplaceAnnotationIsMadeAgain(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(fmt.Sprintf(job, "", "one")))
	uid := s.get("batch/v1", "Job", "j").GetUID()
	w := s.want(fmt.Sprintf(job, `, annotations: {federation.fairlead.dev/replace: "true"}`, "two"))
	s.mustFail(w, v1alpha1.ReasonRemovalWaits, "creates it again")
	s.eventually(w)
	if s.get("batch/v1", "Job", "j").GetUID() == uid {
		t.Error("the Job was not made again")
	}
}

func TestAClaimIsNeverReplacedDespiteItsAnnotation(t *testing.T) {
	s := newSite(t)
	replace := `, annotations: {federation.fairlead.dev/replace: "true"}`
	s.mustDeliver(s.want(claimNamed(replace)))
	uid := s.get("v1", "PersistentVolumeClaim", "data").GetUID()
	w := s.want(fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data%s}, spec: {accessModes: `+
		`[ReadWriteMany], storageClassName: none, resources: {requests: {storage: 1Gi}}}}`, replace))
	s.mustFail(w, v1alpha1.ReasonImmutableField)
	if s.get("v1", "PersistentVolumeClaim", "data").GetUID() != uid {
		t.Error("the claim was made again")
	}
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {%s selector: {matchLabels: {a: b}}, ` +
	`template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: %s}]}}}}`

// An author who removes spec.replicas from the wrapper gives control of it to other clients. The number on the member
// must stay as it is, even if the push is interrupted.
func TestReplicasThatTheAuthorRemovesStayAsTheyAre(t *testing.T) {
	replicas := func(s *site) int64 {
		d := s.get("apps/v1", "Deployment", "d")
		n, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
		return n
	}
	for name, cut := range map[string]func(int, *http.Request) fate{
		"without an interruption": nil,
		"after a manager that died before the apply": func(_ int, req *http.Request) fate {
			if nameOf(req) == "PATCH deployments/d" {
				return lost
			}
			return through
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(fmt.Sprintf(deployment, "replicas: 3,", "one")))
			w := s.want(fmt.Sprintf(deployment, "", "two"))
			s.wire.begin(cut)
			_, err := s.push(w)
			if (err != nil) != (cut != nil) {
				t.Fatal(err)
			}
			s.wire.begin(nil)
			s.mustDeliver(w)
			if got := replicas(s); got != 3 {
				t.Errorf("%d replicas", got)
			}
			// An autoscaler now controls the replicas.
			s.edit("apps/v1", "Deployment", "d", "hpa", func(u *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(u.Object, int64(5), "spec", "replicas")
			})
			s.mustDeliver(s.want(fmt.Sprintf(deployment, "", "three")))
			if got := replicas(s); got != 5 {
				t.Errorf("%d replicas after an autoscaler scaled", got)
			}
		})
	}
}

// restricted makes the site's connection use a service account that has only these rights, and those that each push
// needs.
func (s *site) restricted(rules ...rbacv1.PolicyRule) {
	s.Helper()
	name := "restricted-" + s.namespace
	rules = append(rules,
		rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{"deliveries"}, Verbs: []string{"*"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "create"}})
	for _, obj := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName,
			Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}},
	} {
		if err := s.admin.Create(s.Context(), obj); err != nil {
			s.Fatal(err)
		}
	}
	cfg := rest.CopyConfig(config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name}
	s.connect(cfg)
}

func TestAMissingGrantIsReportedWithItsRemedy(t *testing.T) {
	s := newSite(t)
	s.restricted(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "patch", "create"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get"}})
	s.await("the role is in effect", func(ctx context.Context) bool {
		_, err := (&pass{conn: s.conn, want: s.leave()}).run(ctx)
		return err == nil
	})
	// The member lets the host neither read the ServiceAccount nor write the Service.
	w := s.want(configMap("a", "1"), `{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}`)
	s.mustFail(w, v1alpha1.ReasonNotGranted, "ServiceAccount robot", "serviceaccounts", v1alpha1.LabelAggregateToHost)
	w = s.want(configMap("a", "1"), `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}`)
	out := s.mustFail(w, v1alpha1.ReasonNotGranted, "Service web", "services", v1alpha1.LabelAggregateToHost)
	if out.State != v1alpha1.StateStalled || out.Retry == 0 || s.configMap("a") == nil {
		t.Errorf("state %s, retry %s, the ConfigMap exists: %v", out.State, out.Retry, s.configMap("a") != nil)
	}
}

func TestAKindThatIsNotServedDelaysNoOtherObject(t *testing.T) {
	s := newSite(t)
	group := s.namespace + ".example.com"
	w := s.want(configMap("a", "1"), fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: c}}", group))
	out := s.mustFail(w, v1alpha1.ReasonAPINotServed, "Crate", group)
	if out.State != v1alpha1.StateWaiting || s.configMap("a") == nil {
		t.Errorf("state %s", out.State)
	}
	entries := s.delivery().Spec.Inventory
	if len(entries) != 2 || entries[1].Resource != "" || entries[1].State != v1alpha1.EntryPending {
		t.Errorf("the Delivery does not list the object that waits: %+v", entries)
	}
	s.wire.begin(nil)
	s.mustFail(w, v1alpha1.ReasonAPINotServed)
	if len(s.wire.writes()) > 0 {
		t.Errorf("a waiting pass writes: %v", s.wire.writes())
	}

	definition := s.create(crd("crates", "Crate", group, "Namespaced", "v1"))
	s.served(group+"/v1", "Crate")
	s.eventually(w)
	if s.get(group+"/v1", "Crate", "c") == nil {
		t.Fatal("the Crate was not applied")
	}

	// The CRD is deleted, and with it all objects of the kind.
	if err := s.admin.Delete(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	s.await("the kind is gone", func(ctx context.Context) bool {
		list := s.parse(fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: c}}", group))
		return apierrors.IsNotFound(s.admin.Get(ctx, client.ObjectKeyFromObject(list), list)) &&
			s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition.GetName()) == nil
	})
	w = s.want(configMap("a", "2"), fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: c}, spec: {x: 2}}", group))
	if _, err := s.push(w); err != nil {
		t.Fatal(err)
	}
	s.mustFail(w, v1alpha1.ReasonAPINotServed)
	if got := s.configMap("a").Data["value"]; got != "2" {
		t.Errorf("the ConfigMap has %q", got)
	}
	s.eventually(s.leave())
}

// A restarted host knows only from the Delivery whether an object was applied. An object that was never applied must
// not be recorded there as Applied.
func TestARefusedObjectDoesNotCountAsDelivered(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*site)
		object  string
		reason  string
	}{
		"the wrong scope": {
			object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}}`, reason: v1alpha1.ReasonScopeMismatch,
		},
		"a namespace that is not open": {
			prepare: func(s *site) {
				s.create(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", s.namespace))
			},
			reason: v1alpha1.ReasonNamespaceNotOpen,
		},
		"a namespace of the system": {
			prepare: func(s *site) { s.wrapper.Namespace, s.wrapper.Name = "kube-public", s.namespace },
			reason:  v1alpha1.ReasonNamespaceNotOpen,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			if test.prepare != nil {
				test.prepare(s)
			}
			objects := []string{configMap("a", "1")}
			if test.object != "" {
				objects = append(objects, test.object)
			}
			w := s.want(objects...)
			s.mustFail(w, test.reason)
			if d := s.delivery(); d != nil && w.IsHeldBy(deliveries.Summarise(d)) {
				t.Errorf("the Delivery counts as complete: %v", s.inventory())
			}
			s.wire.begin(nil)
			s.mustFail(w, test.reason)
			if len(s.wire.writes()) > 0 {
				t.Errorf("a refused pass writes: %v", s.wire.writes())
			}
			s.mustDeliver(s.leave())
			if s.delivery() != nil {
				t.Error("the Delivery still exists after leaving")
			}
		})
	}
}

func TestAPassWritesOnlyIntoAnOpenNamespace(t *testing.T) {
	s := newSite(t)
	s.create(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", s.namespace))
	w := s.want(configMap("a", "1"))
	s.mustFail(w, v1alpha1.ReasonNamespaceNotOpen, s.namespace, v1alpha1.LabelOpen)
	if s.configMap("a") != nil {
		t.Fatal("the object was delivered into a closed namespace")
	}
	all := s.want(configMap("a", "1"))
	all.Namespaces = v1alpha1.NamespacesAll
	s.mustDeliver(all)

	// The member's administrator closes the namespace: objects in it stay, and a change waits.
	w = s.want(configMap("a", "2"))
	s.mustFail(w, v1alpha1.ReasonNamespaceNotOpen)
	if got := s.configMap("a"); got == nil || got.Data["value"] != "1" {
		t.Errorf("the ConfigMap is %v", got)
	}
	s.mustDeliver(s.leave())
	if s.configMap("a") != nil {
		t.Error("an object or the Delivery is left")
	}
}

func TestAPassWaitsForANamespaceThatIsBeingDeleted(t *testing.T) {
	s := newSite(t)
	s.openNamespace()
	s.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: z, finalizers: [example.com/hold]}}`)
	s.delete("v1", "Namespace", s.namespace)
	w := s.want(configMap("a", "1"))
	s.mustFail(w, v1alpha1.ReasonNamespaceTerminating, s.namespace)
	cm := s.configMap("z")
	cm.Finalizers = nil
	if err := s.admin.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	s.eventually(w)
}

// If a webhook on the member does not answer, the API server answers 500 to the apply of that one object.
func TestAnObjectThatTheMemberAnswersWith500DelaysNoOtherObject(t *testing.T) {
	s := newSite(t)
	s.wire.answer = func(req *http.Request) *http.Response {
		if nameOf(req) == "PATCH configmaps/a" {
			return refusal(req, apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example.com": no endpoints available`)))
		}
		return nil
	}
	out := s.mustFail(s.want(configMap("a", "1"), configMap("b", "1")), v1alpha1.ReasonPushError, "ConfigMap a", "policy.example.com")
	if out.State != v1alpha1.StateDegraded || out.Retry == 0 {
		t.Errorf("state %s, retry %s", out.State, out.Retry)
	}
	if s.configMap("b") == nil {
		t.Error("the other object was delayed")
	}
}
