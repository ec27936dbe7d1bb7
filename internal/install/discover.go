// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/imagename"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
)

const systemNamespace = v1alpha1.SystemNamespace

// Helm puts this label and these annotations on the objects that it installs.
const (
	labelManagedBy      = "app.kubernetes.io/managed-by"
	annotationRelease   = "meta.helm.sh/release-name"
	annotationReleaseIn = "meta.helm.sh/release-namespace"
)

// host describes which objects of the host part exist on a cluster.
type host struct {
	hasNamespace bool
	terminating  bool // the namespace is being deleted
	// managers are the Deployments of managers, in any namespace.
	managers []appsv1.Deployment
	// webhooks are the webhook configurations named fairlead.
	webhooks []client.Object
	record   record
}

// readHost reads which objects of the host part exist on a cluster, whether `hostctl init` or another tool installed them.
// The method refuse returns an error if another tool installed them.
func readHost(ctx context.Context, c client.Reader) (host, error) {
	h := host{}
	namespace := &corev1.Namespace{}
	err := c.Get(ctx, client.ObjectKey{Name: systemNamespace}, namespace)
	if err := client.IgnoreNotFound(err); err != nil {
		return h, forbidden(err, "reading namespace "+systemNamespace)
	}
	h.hasNamespace, h.terminating = err == nil, err == nil && namespace.DeletionTimestamp != nil
	list := &appsv1.DeploymentList{}
	if err := c.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/component": "manager"}); err != nil {
		return h, forbidden(err, "looking for managers in all namespaces")
	}
	h.managers = list.Items
	for _, configuration := range []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}} {
		err := c.Get(ctx, client.ObjectKey{Name: manifests.Webhook}, configuration)
		if err == nil {
			h.webhooks = append(h.webhooks, configuration)
		} else if !apierrors.IsNotFound(err) {
			return h, forbidden(err, "reading the webhook configurations")
		}
	}
	h.record, err = readRecord(ctx, c)
	return h, err
}

// forbidden adds to err the action that failed, as in "reading the webhook configurations". It turns a Forbidden error into
// a RightsError that names the missing right.
func forbidden(err error, doing string) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		text = status.Status().Message
	}
	return fmt.Errorf("%s: %w", doing, &RightsError{Missing: []string{text}})
}

// manager returns the Deployment of the manager in Fairlead's namespace, or nil if it does not exist.
func (h host) manager() *appsv1.Deployment {
	for i := range h.managers {
		if h.managers[i].Namespace == systemNamespace && h.managers[i].Name == manifests.Manager {
			return &h.managers[i]
		}
	}
	return nil
}

// version returns the version in the record, or else the tag of the manager's image. It is "" if there is neither.
func (h host) version() string {
	if h.record.version != "" {
		return h.record.version
	}
	manager := h.manager()
	if manager == nil || len(manager.Spec.Template.Spec.Containers) == 0 {
		return ""
	}
	return imageTag(manager.Spec.Template.Spec.Containers[0].Image)
}

// imageTag returns the tag of an image, or "" if the image has none.
func imageTag(ref string) string {
	name, err := imagename.Parse(ref)
	if err != nil {
		return ""
	}
	return name.Tag
}

// refuse returns an error if Fairlead's namespace is being deleted, if another tool installed Fairlead, or if the cluster has
// another manager.
func (h host) refuse() error {
	if h.terminating {
		return fmt.Errorf("namespace %[1]s is being deleted: wait until it is gone, `kubectl wait --for=delete namespace/%[1]s --timeout=5m`", systemNamespace)
	}
	for i := range h.managers {
		if err := refuseManager(&h.managers[i]); err != nil {
			return err
		}
	}
	for _, configuration := range h.webhooks {
		if err := refuseWebhooks(configuration); err != nil {
			return err
		}
	}
	return nil
}

func refuseManager(d *appsv1.Deployment) error {
	if err := refuseHelm("Deployment", d); err != nil {
		return err
	}
	if d.Namespace == systemNamespace {
		return nil
	}
	return &OtherFairleadError{
		What: fmt.Sprintf("Deployment %s in namespace %s", d.Name, d.Namespace),
		WayOut: fmt.Sprintf("A cluster may have only one manager, in namespace %s. Remove this Deployment, and keep the CRDs: `kubectl delete mutatingwebhookconfiguration,"+
			"validatingwebhookconfiguration %s`, then `kubectl delete deployment %s --namespace %s`. Then join its members again with `hostctl join`",
			systemNamespace, manifests.Webhook, d.Name, d.Namespace),
	}
}

// refuseHelm returns an error if the object belongs to a release of Helm.
func refuseHelm(kind string, obj client.Object) error {
	if !strings.EqualFold(obj.GetLabels()[labelManagedBy], "Helm") {
		return nil
	}
	release, in := obj.GetAnnotations()[annotationRelease], obj.GetAnnotations()[annotationReleaseIn]
	return &OtherFairleadError{
		What: fmt.Sprintf("Helm manages %s %s (release %s in namespace %s)", kind, obj.GetName(), release, in),
		WayOut: fmt.Sprintf("Upgrade it with `helm upgrade`. Or replace it: `helm get values %[1]s --namespace %[2]s -o yaml > values.yaml`, "+
			"`helm uninstall %[1]s --namespace %[2]s --wait`, then `hostctl init --values values.yaml`. Helm leaves the CRDs, all wrappers, the credentials and the keys. "+
			"Until init has finished, no webhook checks wrappers", release, in),
	}
}

func refuseWebhooks(obj client.Object) error {
	kind, webhooks := "MutatingWebhookConfiguration", []admissionregistrationv1.WebhookClientConfig{}
	switch c := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			webhooks = append(webhooks, c.Webhooks[i].ClientConfig)
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		kind = "ValidatingWebhookConfiguration"
		for i := range c.Webhooks {
			webhooks = append(webhooks, c.Webhooks[i].ClientConfig)
		}
	}
	if err := refuseHelm(kind, obj); err != nil {
		return err
	}
	remedy := fmt.Sprintf("If that manager no longer exists: `kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration %s`, then run this command again", manifests.Webhook)
	for _, w := range webhooks {
		switch {
		case w.URL != nil && !appliedByUs(obj):
			return &OtherFairleadError{What: fmt.Sprintf("%s %s calls %s, the address of a manager outside the cluster, as in a sandbox", kind, obj.GetName(), *w.URL), WayOut: remedy}
		case w.Service != nil && w.Service.Namespace != systemNamespace:
			return &OtherFairleadError{What: fmt.Sprintf("%s %s calls a Service in namespace %s", kind, obj.GetName(), w.Service.Namespace), WayOut: remedy}
		}
	}
	return nil
}
