// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	kubeversion "k8s.io/apimachinery/pkg/version"
	discoveryclient "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// oldest is the oldest Kubernetes version that a member may have. A join installs a ValidatingAdmissionPolicy, and this
// version is the first that serves that kind as v1.
var oldest = utilversion.MustParseGeneric("1.30.0")

// discoverHost reads the host's identity, and the MemberCluster and the Secret that the host has for this member.
func (p *joiner) discoverHost(ctx context.Context) error {
	uid, err := identityOf(ctx, p.host.client)
	if err != nil {
		return explain(err, "the host", p.hostConfig.Host)
	}
	p.identity.UID = uid
	p.known = &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: p.opts.Name}}
	err = p.host.client.Get(ctx, client.ObjectKeyFromObject(p.known), p.known)
	switch {
	case isNoHost(err):
		return fmt.Errorf("%s does not serve MemberClusters, so it is not a host. To make a cluster the host, "+
			"run `hostctl init` or see docs/howto/install.md (`hostctl sandbox up` makes a host to try)", p.hostConfig.Host)
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading MemberCluster %s at the host: %w", p.opts.Name, err)
	case p.known.DeletionTimestamp != nil:
		return fmt.Errorf("MemberCluster %s is being deleted. Wait until it is gone, or run `hostctl unjoin %s --forget` if the member is gone for good", p.opts.Name, p.opts.Name)
	}
	switch secret, err := p.hostSecret(ctx); {
	case err != nil:
		return err
	case secret != nil:
		p.bound = credentials.BindingOf(secret)
	}
	p.checked("the host at %s", p.hostConfig.Host)
	return nil
}

// hostSecret reads the Secret at the host that holds the member's credentials. It returns nil if the Secret does not
// exist, and an error if a Secret of that name has another type or belongs to another member.
func (p *joiner) hostSecret(ctx context.Context) (*corev1.Secret, error) {
	secret := p.secret()
	switch err := p.host.get(ctx, secret); {
	case errors.Is(err, errAbsent):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s at the host: %w", secret.Name, err)
	case secret.Type != v1alpha1.SecretTypeMember:
		return nil, fmt.Errorf("reading Secret %s/%s at the host: its type is %q, so no join made it. Choose another name for the member, or delete that Secret",
			secret.Namespace, secret.Name, secret.Type)
	case !credentials.IsFor(secret, p.opts.Name):
		return nil, fmt.Errorf("Secret %s/%s at the host: it holds the credentials of member %q. Join under another name, or delete the Secret if that member does not use it",
			secret.Namespace, secret.Name, credentials.BindingOf(secret).Cluster)
	}
	return secret, nil
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
func (p *joiner) discoverMember(ctx context.Context) error {
	info, err := serverVersion(p.memberConfig)
	if err != nil {
		return explain(err, p.member.cluster, p.memberConfig.Host)
	}
	p.version = plain.Version(info.GitVersion)
	if v, err := utilversion.ParseGeneric(p.version); err != nil || v.LessThan(oldest) {
		return fmt.Errorf("%s runs Kubernetes %s; a member needs Kubernetes %s or later", p.member.cluster, p.version, oldest)
	}
	if p.memberUID, err = identityOf(ctx, p.member.client); err != nil {
		return explain(err, p.member.cluster, p.memberConfig.Host)
	}
	if p.address, err = addressOf(p.hostConfig, p.memberConfig, p.opts, p.bound); err != nil {
		return err
	}
	p.membership = &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
	if err := p.member.get(ctx, p.membership); err != nil && !errors.Is(err, errAbsent) {
		return fmt.Errorf("reading the Membership of %s: %w", p.member.cluster, err)
	}
	plain.Membership(p.membership)
	p.identity.Name = p.opts.HostName
	if p.identity.Name == "" && p.membership.Spec.Host.UID == p.identity.UID {
		p.identity.Name = p.membership.Spec.Host.Name
	}
	if p.identity.Name == "" {
		p.identity.Name = p.opts.DefaultHostName
	}
	p.checked("%s: Kubernetes %s at %s", p.member.cluster, p.version, p.memberConfig.Host)
	p.remark()
	return nil
}

// remark tells the user about settings of this join that the user may not have intended.
func (p *joiner) remark() {
	if p.memberUID == p.identity.UID {
		p.note("the host joins itself as its own member")
	}
	if p.address.endpoint != p.memberConfig.Host && p.opts.Server == "" {
		p.note("the host still reaches %s at %s, the address of an earlier join; --server %s would change that", p.member.cluster, p.address.endpoint, p.memberConfig.Host)
	}
	if p.known.UID != "" && p.bound.Cluster != "" {
		for _, e := range edits(p.known.Spec, p.bound) {
			p.note("the join ignores spec.%s of MemberCluster %s (%q): the host's credentials are bound to %q. If the MemberCluster is right, %s",
				e.field, p.opts.Name, e.have, e.bound, e.meant)
		}
	}
	if proxy := proxyOf(p.memberConfig); proxy != "" && p.address.proxyURL == "" {
		p.note("the cluster's kubeconfig uses the proxy %s, and the host will not use it: give --proxy-url if the host needs a proxy", proxy)
	}
}

// refuseOthers returns an error in three cases:
//
//   - The cluster belongs to another host, and the user did not give --take-over.
//   - This host has a member with the name of the join, and that member is another cluster.
//   - The cluster is a member of this host already, under another name.
func (p *joiner) refuseOthers(ctx context.Context) error {
	owner := p.membership.Spec
	if p.isAnothers() && !p.opts.TakeOver {
		return fmt.Errorf("%s at %s is a member of another host, %q (uid %s), which knows it as %q; two hosts would fight over its objects: "+
			"run `hostctl unjoin %s` at that host first; or, if that host is gone or must lose the member, join with --take-over, which first shows the consequences",
			p.member.cluster, p.memberConfig.Host, owner.Host.Name, owner.Host.UID, owner.ClusterName, owner.ClusterName)
	}
	if uid := p.known.Status.UID; uid != "" && uid != p.memberUID {
		return fmt.Errorf("%[1]s is the name of another member of this host: its cluster has uid %[2]s, and the cluster at %[3]s has uid %[4]s. Choose another name. Or, to replace the member, "+
			"run `hostctl unjoin %[1]s` first (with --forget if its cluster is gone for good)",
			p.opts.Name, uid, p.memberConfig.Host, p.memberUID)
	}
	var members v1alpha1.MemberClusterList
	if err := p.host.client.List(ctx, &members); err != nil {
		return fmt.Errorf("listing the host's members: %w", err)
	}
	for _, m := range members.Items {
		if m.Name != p.opts.Name && (m.Status.UID == p.memberUID || owner.Host.UID == p.identity.UID && m.Name == owner.ClusterName) {
			return fmt.Errorf("the cluster at %s is a member of this host already, under the name %s: to rename it, `hostctl unjoin %s` first",
				p.memberConfig.Host, m.Name, m.Name)
		}
	}
	return nil
}

// identityOf returns the uid that identifies a cluster: the uid of the cluster's kube-system namespace.
func identityOf(ctx context.Context, c client.Client) (types.UID, error) {
	ns := &corev1.Namespace{}
	if err := c.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, ns); err != nil {
		return "", fmt.Errorf("reading the namespace kube-system: %w", err)
	}
	return ns.UID, nil
}

func serverVersion(cfg *rest.Config) (*kubeversion.Info, error) {
	d, err := discoveryclient.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	info, err := d.ServerVersion()
	return info, wrapf(err, "asking for the version")
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
