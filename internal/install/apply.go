// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
)

// establishedTimeout is how long the installation waits until the API server serves a CRD.
const establishedTimeout = 30 * time.Second

// outcome is the effect of an installation on an object.
type outcome string

const (
	created    outcome = "created"
	configured outcome = "configured"
	unchanged  outcome = "unchanged"
	deleted    outcome = "deleted"
)

// group is a set of kinds. The installation applies the objects of a group together, and shows them as one step of
// progress.
type group struct {
	name  string
	kinds []string
}

// groups has every kind of an installation, in the order in which the installation applies the objects.
var groups = []group{
	{"namespace " + systemNamespace, []string{"Namespace"}},
	{"CRDs of the host", []string{"CustomResourceDefinition"}},
	{"priority class, account and roles of the manager", []string{"PriorityClass", "ServiceAccount",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}},
	{"service and policies of the manager", []string{"Service", "PodDisruptionBudget", "NetworkPolicy", "Issuer", "Certificate"}},
	{"the manager", []string{"Deployment", "ServiceMonitor", "PrometheusRule"}},
	{"webhooks", []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}},
}

func (i *installer) applyAll(ctx context.Context) error {
	for _, g := range groups {
		step := i.progress.Step("%s", g.name)
		counts, err := i.applyGroup(ctx, g)
		if err != nil {
			step.Skip()
			return err
		}
		if len(counts) == 0 {
			step.Skip()
			continue
		}
		step.Donef("%s: %s", g.name, i.applier.describe(counts))
	}
	return nil
}

func (i *installer) applyGroup(ctx context.Context, g group) (map[outcome]int, error) {
	counts := map[outcome]int{}
	isManager := slices.Contains(g.kinds, "Deployment")
	if isManager {
		if err := i.checkPod(ctx); err != nil {
			return nil, err
		}
		if err := i.applier.apply(ctx, record{version: i.opts.Version, values: i.valuesText}.object(), map[outcome]int{}); err != nil {
			return nil, err
		}
	}
	for _, obj := range i.objects {
		if !slices.Contains(g.kinds, obj.GetKind()) {
			continue
		}
		if err := i.applier.apply(ctx, obj, counts); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(g.kinds, "CustomResourceDefinition") || i.opts.DryRun {
		return counts, nil
	}
	return counts, awaitCRDs(ctx, i.Client)
}

// applier applies and deletes objects. In a dry run it sends every request as a dry run.
type applier struct {
	client client.Client
	dryRun bool
	// changes counts the objects that the applier created, changed or deleted.
	changes int
}

// describe returns the counts of a step for the user: "2 created, 1 unchanged".
func (a *applier) describe(counts map[outcome]int) string {
	var parts []string
	for _, o := range []outcome{created, configured, deleted, unchanged} {
		switch n := counts[o]; {
		case n == 0:
		case len(counts) == 1 && n == 1:
			parts = append(parts, string(o))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	text := strings.Join(parts, ", ")
	if a.dryRun {
		text += " (dry run)"
	}
	return text
}

// apply applies an object, and adds one to the count of the outcome: created, configured or unchanged.
func (a *applier) apply(ctx context.Context, obj *unstructured.Unstructured, counts map[outcome]int) error {
	what := describeObject(obj)
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(obj.GroupVersionKind())
	err := a.client.Get(ctx, client.ObjectKeyFromObject(obj), before)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s: %w", what, notServed(err, obj))
	}
	isNew := err != nil
	options := []client.ApplyOption{client.FieldOwner(FieldManager), client.ForceOwnership}
	if a.dryRun {
		options = append(options, client.DryRunAll)
	}
	after := obj.DeepCopy()
	err = a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(after), options...)
	switch {
	case a.dryRun && isNew && apierrors.IsNotFound(err): // the object's namespace does not exist, because a dry run does not create it
	case err != nil:
		return fmt.Errorf("applying %s: %w", what, err)
	}
	result := configured
	switch {
	case isNew:
		result = created
	case equality.Semantic.DeepEqual(compared(before), compared(after)):
		result = unchanged
	}
	if result != unchanged {
		a.changes++
	}
	counts[result]++
	return nil
}

// delete deletes an object that is no longer part of the installation. In a dry run it only counts the object.
func (a *applier) delete(ctx context.Context, obj client.Object) error {
	if !a.dryRun {
		if err := client.IgnoreNotFound(a.client.Delete(ctx, obj, client.Preconditions{UID: new(obj.GetUID())})); err != nil {
			return fmt.Errorf("deleting %s, which is no longer part of the installation: %w", describeObject(obj), err)
		}
	}
	a.changes++
	return nil
}

// compared returns an object without status, managedFields, generation and resourceVersion. An apply or a controller can
// change these fields although the desired object is the same.
func compared(obj *unstructured.Unstructured) map[string]any {
	unstructured.RemoveNestedField(obj.Object, "status")
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	obj.SetGeneration(0)
	return obj.Object
}

// notServed adds a remedy to err if the cluster does not serve the kind of obj, and if the kind belongs to cert-manager or
// to the Prometheus operator.
func notServed(err error, obj *unstructured.Unstructured) error {
	if !meta.IsNoMatchError(err) {
		return err
	}
	switch obj.GroupVersionKind().Group {
	case "cert-manager.io":
		return fmt.Errorf("the cluster does not serve this kind. Install cert-manager first, or set certManager.enabled to false: %w", err)
	case "monitoring.coreos.com":
		return fmt.Errorf("the cluster does not serve this kind. Install the Prometheus operator first, or set serviceMonitor.enabled and prometheusRule.enabled to false: %w", err)
	}
	return err
}

func awaitCRDs(ctx context.Context, c client.Reader) error {
	for _, name := range manifests.CRDs() {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := wait.PollUntilContextTimeout(ctx, pollEvery, establishedTimeout, true, func(ctx context.Context) (bool, error) {
			if err := c.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
			}), nil
		})
		if err != nil {
			return fmt.Errorf("waiting for the API server to serve CRD %s: %w", name, err)
		}
	}
	return nil
}

// appliedByUs reports whether `hostctl init` has applied an object: whether the object has the field manager hostctl-init.
func appliedByUs(obj metav1.Object) bool {
	return slices.ContainsFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == FieldManager && f.Operation == metav1.ManagedFieldsOperationApply
	})
}

func describeObject(obj client.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if gvk, err := apiutil.GVKForObject(obj, cluster.Scheme); err == nil {
		kind = gvk.Kind
	}
	if obj.GetNamespace() != "" {
		return fmt.Sprintf("%s %s/%s", kind, obj.GetNamespace(), obj.GetName())
	}
	return fmt.Sprintf("%s %s", kind, obj.GetName())
}
