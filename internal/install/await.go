// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// maxMessage is the largest number of bytes that hostctl prints of a message from the cluster.
const maxMessage = 500

// checkPod creates the manager's pod as a dry run, before the installation applies the Deployment. Pod Security and other
// admission plugins may accept the Deployment and refuse its pods. Without checkPod the installation would learn of such a
// refusal only after it had changed the manager.
func (i *installer) checkPod(ctx context.Context) error {
	if i.opts.DryRun && !i.there.hasNamespace { // the pod needs the namespace
		return nil
	}
	for _, obj := range i.objects {
		if obj.GetKind() != "Deployment" {
			continue
		}
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, d); err != nil {
			return fmt.Errorf("reading the Deployment: %w", err)
		}
		pod := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
		pod.Namespace, pod.Name = systemNamespace, manifests.Manager+"-hostctl-init"
		err := tryPod(ctx, i.Client, pod)
		switch {
		case err == nil, i.opts.DryRun && !strings.Contains(err.Error(), "PodSecurity"): // under --dry-run the pod's account or priority class may not exist yet
			return nil
		case refusesPod(err):
			return &PodRefusedError{err: err}
		}
		return fmt.Errorf("checking the manager's pod: %w", err)
	}
	return nil
}

func refusesPod(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// tryPod creates the pod as a dry run. While the API server refuses the pod, tryPod tries again for 3 seconds. The
// installation has just written a priority class and labels, and the cache of an admission plugin may not have them yet.
func tryPod(ctx context.Context, c client.Client, pod *corev1.Pod) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, 3*time.Second, true, func(context.Context) (bool, error) {
		// Create gets ctx and not the context of the poll. The poll's context ends together with the poll, and would cancel
		// the last try; the error of that try would then hide the refusal.
		last = c.Create(ctx, pod.DeepCopy(), client.DryRunAll)
		return !refusesPod(last), nil
	})
	if ctx.Err() != nil {
		return err
	}
	return last
}

// PodRefusedError means that the API server refuses the manager's pods.
type PodRefusedError struct{ err error }

func (e *PodRefusedError) Error() string {
	way := "change the policy that this message names, or the values of the installation (hostctl init --values FILE)"
	if strings.Contains(e.err.Error(), "PodSecurity") {
		way = fmt.Sprintf("as delivered, the manager's pods meet the strictest Pod Security level (restricted); check the labels of the namespace "+
			"(`kubectl get namespace %s --show-labels`) and the values of the installation (hostctl init --values FILE)", systemNamespace)
	}
	return fmt.Sprintf("the API server refuses the manager's pods in namespace %s: %s. The manager's Deployment is unchanged; %s, and run this command again",
		systemNamespace, health.Clean(e.err.Error(), maxMessage), way)
}

// Unwrap returns the refusal of the API server.
func (e *PodRefusedError) Unwrap() error { return e.err }

// await waits until the manager's pods are ready and the webhooks answer.
func (i *installer) await(ctx context.Context) error {
	switch {
	case i.opts.DryRun || i.opts.Wait == 0:
		return nil
	case i.values.Replicas == 0:
		i.progress.Note("the value replicas is 0: no manager runs, and the API server refuses to create or change wrappers")
		return nil
	}
	end := time.Now().Add(i.opts.Wait)
	if err := awaitManager(ctx, i.Client, i.progress, i.opts.Wait); err != nil {
		return err
	}
	return awaitWebhooks(ctx, i.Client, i.progress, max(time.Until(end), 10*time.Second))
}

// awaitManager waits until the manager's pods are ready. It shows what it waits for.
func awaitManager(ctx context.Context, c client.Reader, printer *progress.Printer, timeout time.Duration) error {
	step := printer.Step("waiting for the manager")
	defer step.Skip()
	began := time.Now()
	w := newRolloutWatch()
	var state string
	err := wait.PollUntilContextTimeout(ctx, pollEvery, timeout, true, func(ctx context.Context) (bool, error) {
		d, pods, err := readRollout(ctx, c)
		if err != nil {
			return false, err
		}
		var done bool
		done, state = rolledOut(d)
		if done {
			return true, nil
		}
		if certain := w.observe(troubles(d, pods), time.Now()); certain != "" {
			return false, &NotRunningError{Trouble: certain}
		}
		if all := w.present(); all != "" {
			step.Update("%s; %s", state, all)
		} else {
			step.Update("%s", state)
		}
		return false, nil
	})
	switch {
	case err == nil:
		printer.Note("the manager runs: %s, after %d s", state, int(time.Since(began).Seconds()))
		return nil
	case wait.Interrupted(err) && ctx.Err() == nil:
		return &NotRunningError{Trouble: strings.Join(nonEmpty(state, w.present()), "; "), After: timeout}
	}
	return err
}

func nonEmpty(all ...string) (some []string) {
	for _, text := range all {
		if text != "" {
			some = append(some, text)
		}
	}
	return some
}

// readRollout reads the manager's Deployment, and the pods of its newest ReplicaSet.
func readRollout(ctx context.Context, c client.Reader) (*appsv1.Deployment, []corev1.Pod, error) {
	d := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: manifests.Manager}, d); err != nil {
		return nil, nil, transient(err)
	}
	sets, pods := &appsv1.ReplicaSetList{}, &corev1.PodList{}
	labels := client.MatchingLabels(d.Spec.Selector.MatchLabels)
	if err := c.List(ctx, sets, client.InNamespace(systemNamespace), labels); err != nil {
		return d, nil, transient(err)
	}
	if err := c.List(ctx, pods, client.InNamespace(systemNamespace), labels); err != nil {
		return d, nil, transient(err)
	}
	return d, podsOfNewest(d, sets.Items, pods.Items), nil
}

// transient returns nil if err means that the API server is busy for a moment, so that the caller's poll tries again. It
// returns any other error unchanged.
func transient(err error) error {
	if apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) {
		return nil
	}
	return err
}

// NotRunningError means that the objects are applied, but the manager's pods do not become ready.
type NotRunningError struct {
	Trouble string
	// After is how long the installation waited. It is zero if the installation gave up early because waiting longer would not help.
	After time.Duration
}

func (e *NotRunningError) Error() string {
	after := "and waiting does not help"
	if e.After > 0 {
		after = "after " + e.After.String()
	}
	return fmt.Sprintf("everything is applied, but the manager does not run, %s: %s. See `kubectl --namespace %s get pods`. "+
		"Remove the cause, then run `hostctl init` again, which repairs the installation", after, e.Trouble, systemNamespace)
}

// awaitWebhooks waits until the API server calls the webhooks: they must accept one test wrapper and refuse another.
func awaitWebhooks(ctx context.Context, c client.Client, printer *progress.Printer, timeout time.Duration) error {
	step := printer.Step("waiting for the webhooks to answer")
	defer step.Skip()
	began := time.Now()
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, timeout, true, func(ctx context.Context) (bool, error) {
		if last = ProbeWebhooks(ctx, c); last != nil {
			step.Update("%s", health.Clean(last.Error(), maxMessage))
		}
		return last == nil, nil
	})
	switch {
	case err == nil:
		printer.Note("the webhooks answer, after %d s: in dry runs they accepted a correct test wrapper and refused a wrong one", int(time.Since(began).Seconds()))
		return nil
	case wait.Interrupted(err) && ctx.Err() == nil:
		return fmt.Errorf("the manager runs, but its webhooks did not answer within %s: %w. The API server calls Service %s/%s, which leads to port 9443 of the manager's pods. "+
			"Check whether a firewall or a NetworkPolicy between the API server and the pods blocks these connections", timeout.Round(time.Second), last, systemNamespace, manifests.Service)
	}
	return err
}

// ProbeWebhooks creates two test wrappers as dry runs. It returns an error unless the webhooks accept the first and refuse
// the second.
func ProbeWebhooks(ctx context.Context, c client.Client) error {
	if err := c.Create(ctx, probe(""), client.DryRunAll); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("hostctl sent a correct test wrapper as a dry run, and the API server did not accept it: %w", err)
	}
	err := c.Create(ctx, probe("NoSuchKind"), client.DryRunAll)
	switch {
	case err == nil:
		return errors.New("the API server accepted a test wrapper that it has to refuse, so it does not call the webhooks")
	case strings.Contains(err.Error(), "validate-wrappers.") && strings.Contains(err.Error(), "denied the request"):
		return nil
	}
	return fmt.Errorf("hostctl sent a wrong test wrapper as a dry run, and the refusal did not come from the webhook: %w", err)
}

// mayNotProbe reports whether err means that RBAC forbids the user to create test wrappers, so that the API server did not
// call the webhooks. It looks at the text: the refusal of a webhook or an admission policy is Forbidden too, and contains
// "denied the request" or "denied request".
func mayNotProbe(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "denied the request") && !strings.Contains(err.Error(), "denied request")
}

// probe returns a test wrapper: a ClusterFederated whose placement names a member that does not exist. If the argument
// target is a kind, and not "", the wrapper also has an override for objects of that kind. The wrapper has no such object,
// so the webhook refuses it.
func probe(target string) *unstructured.Unstructured {
	spec := map[string]any{
		"objects": []any{map[string]any{
			"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": "hostctl-init-probe"}, "value": int64(1),
		}},
		"placement": map[string]any{"clusters": map[string]any{"names": []any{"hostctl-init-probe"}}},
	}
	if target != "" {
		spec["overrides"] = []any{map[string]any{"target": map[string]any{"kind": target}, "patch": []any{map[string]any{"op": "remove", "path": "/value"}}}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "federation.fairlead.dev/v1alpha1", "kind": "ClusterFederated",
		"metadata": map[string]any{"name": "hostctl-init-probe"}, "spec": spec,
	}}
}
