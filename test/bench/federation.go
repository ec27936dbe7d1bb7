// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// federation is the program that the bench measures: Fairlead or a peer. Everything in which the two differ is in these methods.
type federation interface {
	// name is the federation's name in messages.
	name() string
	// options sets what this federation needs in the options of the sandbox.
	options(*sandbox.Options)
	// install installs the federation on a running sandbox, and joins the members.
	install(context.Context, *bed) error
	// manager is the name of the federation's main process on the host, as the supervisor knows it.
	manager() string
	// runs reports whether a process belongs to the federation.
	runs(supervisor.Status) bool
	// sent reports whether a process of the federation sent a request.
	sent(audit.Request) bool
	// calm is how long the federation's processes must use almost no CPU until the bench takes them for idle.
	calm() time.Duration
	// leader returns the identity of the manager that leads, or "".
	leader(context.Context, *bed) (string, error)
	// open does what the federation needs before wrappers in this namespace of the host can go to members.
	open(context.Context, *bed, *corev1.Namespace) error
	// wrap returns a wrapper of a ConfigMap from function painted, placed on every member.
	wrap(namespace, name string) client.Object
	// paint changes the colour of the ConfigMap in the wrapper.
	paint(wrapper client.Object, colour int)
	// ready returns, for each wrapper that is on all members, the generation that all of them have.
	ready(context.Context, *bed) (map[client.ObjectKey]int64, error)
}

// fairlead measures Fairlead. In a run with a peer, the manager runs the collectors. Then the manager's figures include the
// collectors' work, as the peer's figures include the same work. In a run without a peer, each collector is a process of
// its own.
type fairlead struct{ besidePeer bool }

func (fairlead) name() string    { return "Fairlead" }
func (fairlead) manager() string { return sandbox.ManagerProcess }

// options sets GOGC to 100, Go's default, because Fairlead runs with it in production. The sandbox sets a lower value to save memory.
func (fairlead) options(o *sandbox.Options) { o.ManagerEnv = []string{"GOGC=100"} }

func (f fairlead) install(ctx context.Context, b *bed) error {
	if !f.besidePeer {
		return nil // the sandbox installs Fairlead itself
	}
	host, err := b.box.RESTConfig(sandbox.HostName)
	if err != nil {
		return err
	}
	for _, name := range b.box.Members() {
		b.step = b.print.Step("%s: moving its collector into the manager", name)
		if err := f.moveCollector(ctx, b, host, name); err != nil {
			b.step.Fail(err)
			return fmt.Errorf("moving the collector of %s into the manager: %w", name, err)
		}
		b.step.Done()
	}
	b.step = b.print.Step("waiting until the manager is idle")
	if err := b.quiet(ctx); err != nil {
		b.step.Fail(err)
		return err
	}
	b.step.Done()
	return nil
}

// moveCollector ends the member's collector process and joins the member again, with the collector inside the manager.
func (fairlead) moveCollector(ctx context.Context, b *bed, host *rest.Config, name string) error {
	member, err := b.box.RESTConfig(name)
	if err != nil {
		return err
	}
	if err := b.box.RemoveProcess(ctx, name, sandbox.CollectorProcess); err != nil {
		return err
	}
	_, err = join.Join(ctx, host, member, join.Options{
		Name: name, Allow: []string{"any"}, Namespaces: v1alpha1.NamespacesAll, DefaultHostName: b.box.Name,
		Collector: v1alpha1.CollectorHost, Wait: 2 * time.Minute,
	}, func(steps.Step) {})
	return err
}

func (fairlead) runs(s supervisor.Status) bool {
	return s.Name == sandbox.ManagerProcess || s.Name == sandbox.CollectorProcess
}

// These are the users of Fairlead's processes in audit logs: the manager on the host, and the accounts that a join creates on members.
const (
	accounts      = "system:serviceaccount:" + v1alpha1.SystemNamespace + ":"
	managerUser   = accounts + "fairlead-manager"
	collectorUser = accounts + permissions.CollectorAccount
)

func (fairlead) sent(r audit.Request) bool {
	return strings.HasPrefix(r.User.Username, accounts)
}

// isCollectors reports whether a collector sent the request.
func isCollectors(r audit.Request) bool { return r.User.Username == collectorUser }

func (fairlead) calm() time.Duration { return 5 * time.Second }

func (fairlead) leader(ctx context.Context, b *bed) (string, error) {
	lease := &coordinationv1.Lease{}
	err := b.host.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "fairlead-manager"}, lease)
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

func (fairlead) open(context.Context, *bed, *corev1.Namespace) error { return nil }

func (fairlead) wrap(namespace, name string) client.Object {
	return build.Federated(name).In(namespace).ToMatching().With(painted(name, 0)).Obj()
}

func (fairlead) paint(wrapper client.Object, colour int) {
	w, _ := wrapper.(*v1alpha1.Federated)
	w.Spec.Objects[0] = build.Raw(painted(w.Name, colour))
}

func (fairlead) ready(ctx context.Context, b *bed) (map[client.ObjectKey]int64, error) {
	list := &v1alpha1.FederatedList{}
	if err := b.host.List(ctx, list); err != nil {
		return nil, err
	}
	found := make(map[client.ObjectKey]int64)
	for i := range list.Items {
		w := &list.Items[i]
		is := meta.FindStatusCondition(w.Status.Conditions, v1alpha1.ConditionReady)
		if is != nil && is.Status == metav1.ConditionTrue && w.Status.Counts.Placed != nil && int(*w.Status.Counts.Placed) == len(b.members) {
			found[client.ObjectKeyFromObject(w)] = is.ObservedGeneration
		}
	}
	return found, nil
}
