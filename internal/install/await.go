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
)

// maxMessage bounds text of the cluster in a line of progress, in bytes.
const maxMessage = 500

// checkPod creates the manager's pod as a dry run. Pod Security and other admission plugins refuse pods, and never Deployments.
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
		err := i.tryPod(ctx, pod)
		switch {
		case err == nil, i.opts.DryRun && !strings.Contains(err.Error(), "PodSecurity"): // a dry run has not created its account or priority class
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

// tryPod tries for some seconds. The API server's admission plugins have caches, in which a priority class or a label that was written a
// moment ago may be missing.
func (i *installer) tryPod(ctx context.Context, pod *corev1.Pod) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, 3*time.Second, true, func(context.Context) (bool, error) {
		// The context of the poll would end the last try in the middle, and hide the refusal.
		last = i.Create(ctx, pod.DeepCopy(), client.DryRunAll)
		return !refusesPod(last), nil
	})
	if ctx.Err() != nil {
		return err
	}
	return last
}

// PodRefusedError is the error when the API server refuses the manager's pods.
type PodRefusedError struct{ err error }

func (e *PodRefusedError) Error() string {
	way := "change the policy that this message names, or the values"
	if strings.Contains(e.err.Error(), "PodSecurity") {
		way = fmt.Sprintf("the manager's pods conform to the level restricted, so check the labels of the namespace "+
			"(`kubectl get namespace %s --show-labels`) and the settings in your values", systemNamespace)
	}
	return fmt.Sprintf("the API server refuses the manager's pods in namespace %s: %s. No pod runs yet; %s, and run this command again",
		systemNamespace, health.Clean(e.err.Error(), maxMessage), way)
}

// Unwrap returns the refusal of the API server.
func (e *PodRefusedError) Unwrap() error { return e.err }

// await waits until the manager runs and the webhooks answer.
func (i *installer) await(ctx context.Context) error {
	switch {
	case i.opts.DryRun || i.opts.Wait == 0:
		return nil
	case i.values.Replicas == 0:
		i.progress.Note("replicas is 0: no manager runs, and the API server refuses new wrappers and changed ones")
		return nil
	}
	end := time.Now().Add(i.opts.Wait)
	if err := i.awaitManager(ctx, i.opts.Wait); err != nil {
		return err
	}
	return i.awaitWebhooks(ctx, max(time.Until(end), 10*time.Second))
}

func (i *installer) awaitManager(ctx context.Context, timeout time.Duration) error {
	step := i.progress.Step("waiting for the manager")
	defer step.Skip()
	began := time.Now()
	w := newRolloutWatch()
	var state string
	err := wait.PollUntilContextTimeout(ctx, pollEvery, timeout, true, func(ctx context.Context) (bool, error) {
		d, pods, err := i.rollout(ctx)
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
		i.progress.Note("the manager runs: %s, after %d s", state, int(time.Since(began).Seconds()))
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

// rollout reads the Deployment, and the pods of its newest ReplicaSet.
func (i *installer) rollout(ctx context.Context) (*appsv1.Deployment, []corev1.Pod, error) {
	d := &appsv1.Deployment{}
	if err := i.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: manifests.Manager}, d); err != nil {
		return nil, nil, transient(err)
	}
	sets, pods := &appsv1.ReplicaSetList{}, &corev1.PodList{}
	labels := client.MatchingLabels(d.Spec.Selector.MatchLabels)
	if err := i.List(ctx, sets, client.InNamespace(systemNamespace), labels); err != nil {
		return d, nil, transient(err)
	}
	if err := i.List(ctx, pods, client.InNamespace(systemNamespace), labels); err != nil {
		return d, nil, transient(err)
	}
	return d, podsOfNewest(d, sets.Items, pods.Items), nil
}

// transient hides an error of a server that is busy for a moment: the next round asks again.
func transient(err error) error {
	if apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) {
		return nil
	}
	return err
}

// NotRunningError is the error when the manager does not run.
type NotRunningError struct {
	Trouble string
	// After is how long the installation waited. It is zero if waiting would not help.
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

// awaitWebhooks waits until the API server calls the webhooks: they have to accept one wrapper and refuse another.
func (i *installer) awaitWebhooks(ctx context.Context, timeout time.Duration) error {
	step := i.progress.Step("waiting for the webhooks to answer")
	defer step.Skip()
	began := time.Now()
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, timeout, true, func(ctx context.Context) (bool, error) {
		if last = ProbeWebhooks(ctx, i.Client); last != nil {
			step.Update("%s", health.Clean(last.Error(), maxMessage))
		}
		return last == nil, nil
	})
	switch {
	case err == nil:
		i.progress.Note("the webhooks answer: a wrapper was accepted and another refused, as dry runs, after %d s", int(time.Since(began).Seconds()))
		return nil
	case wait.Interrupted(err) && ctx.Err() == nil:
		return fmt.Errorf("the manager runs, but its webhooks did not answer within %s: %w. The API server calls the Service %s/%s, which leads to port 9443 of the manager's pods: "+
			"does a firewall or a NetworkPolicy between the API server and the pods stop that?", timeout.Round(time.Second), last, systemNamespace, manifests.Service)
	}
	return err
}

// ProbeWebhooks creates two wrappers as dry runs. The webhooks have to accept the first and to refuse the second.
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
	return fmt.Errorf("hostctl sent a wrong test wrapper as a dry run, and the webhook did not refuse it: %w", err)
}

// mayNotProbe reports whether the API server refused a probe because the user lacks rights, before it called a webhook. The refusal of
// a webhook or a policy contains "denied the request" or "denied request".
func mayNotProbe(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "denied the request") && !strings.Contains(err.Error(), "denied request")
}

// probe is a ClusterFederated that selects no member. With a target it has an override for an object that it does not hold, which the
// webhook refuses.
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
