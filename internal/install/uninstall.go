// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// UninstallOptions are the settings of an uninstallation.
type UninstallOptions struct {
	// DeleteWrappers makes Uninstall first set onDelete: KeepAll in all wrappers, delete the wrappers, and unjoin all
	// members. At the end Uninstall also removes CRDs, credentials and keys.
	DeleteWrappers bool
	// Wait is the time limit of each single wait: for the wrappers, for each member, for the manager's pods.
	Wait time.Duration
}

// Left counts the objects that an uninstallation leaves on the host.
type Left struct{ Wrappers, Members, Secrets int }

// uninstaller has the state of one uninstallation.
type uninstaller struct {
	connection
	cfg      *rest.Config
	opts     UninstallOptions
	progress *progress.Printer

	// Filled by discover.
	there host
}

// Uninstall removes the host part (see the package comment). It leaves CRDs, wrappers, credentials, keys and the record,
// unless DeleteWrappers is set. It always leaves the objects on members.
func Uninstall(ctx context.Context, cfg *rest.Config, opts UninstallOptions, printer *progress.Printer) (Left, error) {
	c, err := connect(cfg)
	if err != nil {
		return Left{}, err
	}
	u := &uninstaller{connection: c, cfg: cfg, opts: opts, progress: printer}
	steps := []func(context.Context) error{u.discover, u.removeWebhooks, u.removeManager, u.removeRest}
	if opts.DeleteWrappers {
		// Deleting wrappers and unjoining members is the manager's work, so these steps run before the steps that remove
		// the manager and its webhooks.
		steps = []func(context.Context) error{
			u.discover, u.probe, u.deleteWrappers, u.unjoin, u.removeWebhooks, u.removeManager, u.removeRest, u.removeCRDs, u.removeNamespace,
		}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return Left{}, fmt.Errorf("uninstalling the host part: %w", err)
		}
	}
	return u.left(ctx)
}

func (u *uninstaller) discover(ctx context.Context) error {
	var err error
	if u.there, err = readHost(ctx, u.connection); err != nil {
		return explain(err, u.endpoint)
	}
	for i := range u.there.managers {
		if d := &u.there.managers[i]; refuseHelm("Deployment", d) != nil {
			release, in := d.Annotations[annotationRelease], d.Annotations[annotationReleaseIn]
			return fmt.Errorf("Helm installed the host part: `helm uninstall %s --namespace %s` removes it, and leaves the same objects as this command", release, in)
		}
	}
	return u.there.refuse()
}

// removeWebhooks deletes the webhook configurations. It runs before removeManager. Without a manager the API server could
// not call the webhooks. It would refuse every change of a wrapper, even the removal of its finalizer.
func (u *uninstaller) removeWebhooks(ctx context.Context) error {
	return u.remove(ctx, "webhooks", []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: manifests.Webhook}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: manifests.Webhook}},
	})
}

// removeManager deletes the manager's Deployment, and waits until its pods are gone: the next step deletes the roles, which
// a running manager needs.
func (u *uninstaller) removeManager(ctx context.Context) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: manifests.Manager}}
	if err := u.remove(ctx, "the manager", []client.Object{d}); err != nil {
		return err
	}
	step := u.progress.Step("waiting until the manager's pods are gone")
	defer step.Skip()
	pods := &corev1.PodList{}
	labels := client.MatchingLabels{"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/component": "manager"}
	err := wait.PollUntilContextTimeout(ctx, pollEvery, u.opts.Wait, true, func(ctx context.Context) (bool, error) {
		err := u.List(ctx, pods, client.InNamespace(systemNamespace), labels)
		return err == nil && len(pods.Items) == 0, transient(err)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("pods of the manager are not gone after %s: %s. Check that their nodes answer, then run this command again", u.opts.Wait, names(pods.Items))
	}
	return err
}

func names(pods []corev1.Pod) string {
	var all []string
	for i := range pods {
		all = append(all, pods[i].Name)
	}
	return strings.Join(all, ", ")
}

// removeRest deletes the other objects of the host part, except the CRDs and the namespace. It deletes them even if
// another tool installed them, and even if the present values would no longer create them. It also deletes the objects
// that only an earlier version of hostctl applied.
func (u *uninstaller) removeRest(ctx context.Context) error {
	all := manifests.Default()
	all.CertManager.Enabled, all.ServiceMonitor.Enabled, all.PrometheusRule.Enabled = true, true, true
	installed, err := manifests.Objects(all, "")
	if err != nil {
		return err
	}
	all.CertManager.Enabled = false
	rotating, err := manifests.Objects(all, "")
	if err != nil {
		return err
	}
	var objects []client.Object
	for _, obj := range append(installed, rotating...) {
		if slices.Contains([]string{"CustomResourceDefinition", "Namespace", "Deployment"}, obj.GetKind()) || strings.HasSuffix(obj.GetKind(), "WebhookConfiguration") {
			continue
		}
		objects = append(objects, obj)
	}
	stale, err := staleObjects(ctx, u.Client, nil)
	if err != nil {
		return err
	}
	for i := range stale {
		objects = append(objects, &stale[i])
	}
	return u.remove(ctx, "services, policies, account and roles", objects)
}

// remove deletes objects, and shows this as one step of progress. It ignores objects that do not exist.
func (u *uninstaller) remove(ctx context.Context, what string, objects []client.Object) error {
	step := u.progress.Step("removing %s", what)
	gone := 0
	for _, obj := range objects {
		err := u.Delete(ctx, obj)
		switch {
		case err == nil:
			gone++
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		default:
			step.Skip()
			return forbidden(err, "deleting "+describeObject(obj))
		}
	}
	if gone == 0 {
		step.Donef("%s: there was nothing to remove", what)
		return nil
	}
	step.Donef("%s: %d deleted", what, gone)
	return nil
}

// left counts the wrappers, members and Secrets that stay on the host.
func (u *uninstaller) left(ctx context.Context) (Left, error) {
	if u.opts.DeleteWrappers {
		return Left{}, nil
	}
	wrappers, members, err := readWrappers(ctx, u.Client)
	if err != nil {
		return Left{}, err
	}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := u.List(ctx, secrets, client.InNamespace(systemNamespace)); err != nil {
		return Left{}, fmt.Errorf("counting Secrets: %w", err)
	}
	return Left{Wrappers: len(wrappers), Members: len(members), Secrets: len(secrets.Items)}, nil
}
