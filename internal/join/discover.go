// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// oldest is the oldest Kubernetes version that a member may have. A join installs a ValidatingAdmissionPolicy, and this
// version is the first that serves that kind as v1.
var oldest = utilversion.MustParseGeneric("1.30.0")

// found has the facts that a join reads on both clusters before it decides.
type found struct {
	// identity identifies this host. The join writes it, with the host's name, into the Membership.
	identity v1alpha1.HostIdentity
	known    *v1alpha1.MemberCluster // the host's MemberCluster; only its name is set if it does not exist
	bound    credentials.Binding     // the binding in the Secret at the host; empty if the host has no Secret
	// manager is the manager's Deployment. It is nil if the manager runs outside the host cluster, or if the user has no
	// right to read the Deployment.
	manager *appsv1.Deployment

	memberUID  types.UID
	version    string
	membership *v1alpha1.Membership // the member's Membership; its spec is empty if it does not exist
	address    address
}

// isAnothers reports whether the cluster belongs to another host.
func (f found) isAnothers() bool {
	owner := f.membership.Spec.Host.UID
	return owner != "" && owner != f.identity.UID
}

// isOwnMember reports whether the host joins itself.
func (f found) isOwnMember() bool { return f.memberUID == f.identity.UID }

// discover reads the host and the member. It refuses a join that the user's options do not allow.
func (j *joiner) discover(ctx context.Context) (found, error) {
	f, err := j.discoverHost(ctx)
	if err != nil {
		return f, err
	}
	if f.manager, err = j.discoverManager(ctx); err != nil {
		return f, err
	}
	if err := j.discoverMember(ctx, &f); err != nil {
		return f, err
	}
	if err := f.checkFromPod(); err != nil {
		return f, err
	}
	return f, j.refuseOthers(ctx, f)
}

// discoverHost reads the host's identity, and the MemberCluster and the Secret that the host has for this member.
func (j *joiner) discoverHost(ctx context.Context) (found, error) {
	name, at := j.opts.Name, j.Host.Config.Host
	f := found{known: &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	var err error
	if f.identity.UID, err = cluster.Identity(ctx, j.Host.Client); err != nil {
		return f, cluster.Explain(err, "the host", at)
	}
	err = j.Host.Client.Get(ctx, client.ObjectKeyFromObject(f.known), f.known)
	switch {
	case isNoHost(err):
		return f, fmt.Errorf("%s does not serve MemberClusters, so it is not a host. To make a cluster the host, "+
			"run `hostctl init` or see docs/howto/install.md (`hostctl sandbox up` makes a host to try)", at)
	case client.IgnoreNotFound(err) != nil:
		return f, fmt.Errorf("reading MemberCluster %s at the host: %w", name, err)
	case f.known.DeletionTimestamp != nil:
		return f, fmt.Errorf("MemberCluster %s is being deleted. Wait until it is gone, or run `hostctl unjoin %s --forget` if the member is gone for good", name, name)
	}
	switch secret, err := tokens.ReadHostSecret(ctx, j.Host, name); {
	case err != nil:
		return f, err
	case secret != nil:
		f.bound = credentials.BindingOf(secret)
	}
	j.Steps.Checked("the host at %s", at)
	return f, nil
}

// discoverManager reads the manager's Deployment on the host. If it exists, the manager runs in a pod, and the join derives
// the collector's image from the manager's image. If the manager runs outside the cluster, as in the sandbox, the
// Deployment does not exist.
func (j *joiner) discoverManager(ctx context.Context) (*appsv1.Deployment, error) {
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: membercollector.Manager}}
	switch err := j.Host.Get(ctx, manager); {
	case err == nil:
		return manager, nil
	case errors.Is(err, cluster.ErrAbsent):
		return nil, nil
	case apierrors.IsForbidden(err) && j.opts.Collector != "" && j.opts.Collector != v1alpha1.CollectorMember:
		j.Steps.Note("your account has no right to read Deployment %s at the host, so the join cannot check whether the manager runs in a pod", membercollector.Manager)
		return nil, nil
	default:
		return nil, fmt.Errorf("reading Deployment %s/%s at the host: %w", manager.Namespace, manager.Name, err)
	}
}

// isNoHost reports whether err, the error of a read of a MemberCluster, means that the cluster does not serve the kind
// MemberCluster. It returns false if the cluster serves the kind and only this MemberCluster does not exist.
func isNoHost(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && (status.Status().Details == nil || status.Status().Details.Name == "")
}

// discoverMember reads the identity, the version and the Membership of the cluster that joins. It chooses the address at
// which the host will reach the cluster, and the host's name in the Membership. It refuses a cluster whose Kubernetes is
// older than the constant oldest.
func (j *joiner) discoverMember(ctx context.Context, f *found) error {
	at := j.Member.Config.Host
	info, err := cluster.Version(j.Member.Config)
	if err != nil {
		return cluster.Explain(err, j.Member.Name, at)
	}
	f.version = plain.Version(info.GitVersion)
	if v, err := utilversion.ParseGeneric(f.version); err != nil || v.LessThan(oldest) {
		return fmt.Errorf("%s runs Kubernetes %s; a member needs Kubernetes %s or later", j.Member.Name, f.version, oldest)
	}
	if f.memberUID, err = cluster.Identity(ctx, j.Member.Client); err != nil {
		return cluster.Explain(err, j.Member.Name, at)
	}
	if f.address, err = addressOf(j.Host.Config, j.Member.Config, j.opts, f.bound); err != nil {
		return err
	}
	f.membership = &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	if err := j.Member.Get(ctx, f.membership); err != nil && !errors.Is(err, cluster.ErrAbsent) {
		return fmt.Errorf("reading the Membership of %s: %w", j.Member.Name, err)
	}
	plain.Membership(f.membership)
	f.identity.Name = j.opts.HostName
	if f.identity.Name == "" && f.membership.Spec.Host.UID == f.identity.UID {
		f.identity.Name = f.membership.Spec.Host.Name
	}
	if f.identity.Name == "" {
		f.identity.Name = j.opts.DefaultHostName
	}
	j.Steps.Checked("%s: Kubernetes %s at %s", j.Member.Name, f.version, at)
	j.remark(*f)
	return nil
}

// remark tells the user about settings of this join that the user may not have intended.
func (j *joiner) remark(f found) {
	if f.isOwnMember() {
		j.Steps.Note("the host joins itself as its own member")
	}
	if f.address.endpoint != j.Member.Config.Host && j.opts.Server == "" {
		j.Steps.Note("the host still reaches %s at %s, the address of an earlier join; --server %s would change that", j.Member.Name, f.address.endpoint, j.Member.Config.Host)
	}
	if f.known.UID != "" && f.bound.Cluster != "" {
		for _, e := range edits(f.known.Spec, f.bound) {
			j.Steps.Note("the join ignores spec.%s of MemberCluster %s (%q): the host's credentials are bound to %q. If the MemberCluster is right, %s",
				e.field, j.opts.Name, e.have, e.bound, e.meant)
		}
	}
	if proxy := proxyOf(j.Member.Config); proxy != "" && f.address.proxyURL == "" {
		j.Steps.Note("the cluster's kubeconfig uses the proxy %s, and the host will not use it: give --proxy-url if the host needs a proxy", proxy)
	}
}

// If the manager runs in a pod, checkFromPod refuses a loopback address of the member or of its proxy. In the pod the
// address leads to the pod itself. addressOf accepts such an address if the host's own address is a loopback address too.
func (f found) checkFromPod() error {
	if f.manager == nil {
		return nil
	}
	const pod = "a loopback address: in the pod of the host's manager it leads to that pod itself"
	switch {
	case f.address.proxyURL != "" && isLoopback(f.address.proxyURL):
		return fmt.Errorf("--proxy-url %s is %s", credentials.WithoutUser(f.address.proxyURL), pod)
	case f.address.proxyURL == "" && isLoopback(f.address.endpoint):
		return fmt.Errorf("the member's API server %s is %s; give the address by which the host's pods reach the member: --server https://ADDRESS:PORT "+
			"(of a kind cluster, `kind get kubeconfig --internal` has it)", f.address.endpoint, pod)
	}
	return nil
}

// refuseOthers returns an error in three cases:
//
//   - The cluster belongs to another host, and the user did not give --take-over.
//   - This host already has a member with the name that the user gave, and that member is another cluster.
//   - The cluster is a member of this host already, under another name.
func (j *joiner) refuseOthers(ctx context.Context, f found) error {
	owner := f.membership.Spec
	if f.isAnothers() && !j.opts.TakeOver {
		return fmt.Errorf("%s at %s is a member of another host, %q (uid %s), which knows it as %q; two hosts would fight over its objects: "+
			"run `hostctl unjoin %s` at that host first; or, if that host is gone or must lose the member, join with --take-over, which first shows the consequences",
			j.Member.Name, j.Member.Config.Host, owner.Host.Name, owner.Host.UID, owner.ClusterName, owner.ClusterName)
	}
	if uid := f.known.Status.UID; uid != "" && uid != f.memberUID {
		return fmt.Errorf("%[1]s is the name of another member of this host: its cluster has uid %[2]s, and the cluster at %[3]s has uid %[4]s. Choose another name. Or, to replace the member, "+
			"run `hostctl unjoin %[1]s` first (with --forget if its cluster is gone for good)",
			j.opts.Name, uid, j.Member.Config.Host, f.memberUID)
	}
	var members v1alpha1.MemberClusterList
	if err := j.Host.Client.List(ctx, &members); err != nil {
		return fmt.Errorf("listing the host's members: %w", err)
	}
	for _, m := range members.Items {
		if m.Name != j.opts.Name && (m.Status.UID == f.memberUID || owner.Host.UID == f.identity.UID && m.Name == owner.ClusterName) {
			return fmt.Errorf("the cluster at %s is a member of this host already, under the name %s: to rename it, `hostctl unjoin %s` first",
				j.Member.Config.Host, m.Name, m.Name)
		}
	}
	return nil
}

// proxyOf returns the URL of the proxy through which the kubeconfig reaches the cluster, without the password. It returns
// "" if the kubeconfig names no proxy. It ignores a proxy in an environment variable.
func proxyOf(cfg *rest.Config) string {
	target, err := url.Parse(cfg.Host)
	if cfg.Proxy == nil || err != nil {
		return ""
	}
	proxy, err := cfg.Proxy(&http.Request{URL: target})
	if err != nil || proxy == nil {
		return ""
	}
	return proxy.Redacted()
}
