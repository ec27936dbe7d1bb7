// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
)

// putHostNamespace: a cluster that was a member first and is a host now keeps the namespace when it leaves its own
// host, hence the label.
func (p *joiner) putHostNamespace(ctx context.Context) error {
	_, outcome, err := put(ctx, p.host, systemNamespace(), func(ns *corev1.Namespace) { delete(ns.Labels, v1alpha1.LabelMade) })
	if err != nil {
		return err
	}
	p.done(outcome, "host: namespace "+v1alpha1.SystemNamespace, "")
	return nil
}

func (p *joiner) putMemberCluster(ctx context.Context) error {
	obj := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: p.opts.Name}}
	have, outcome, err := put(ctx, p.host, obj, p.fillMemberCluster)
	if err != nil {
		return err
	}
	p.registered = have
	p.done(outcome, "host: MemberCluster "+p.opts.Name, "")
	return nil
}

// fillMemberCluster keeps fields that people set by other means: labels, suspend. It sets the finalizer at creation,
// so that a deletion of the registration always withdraws from the member first.
func (p *joiner) fillMemberCluster(m *v1alpha1.MemberCluster) {
	controllerutil.AddFinalizer(m, v1alpha1.Finalizer)
	for key, value := range p.opts.Labels {
		metav1.SetMetaDataLabel(&m.ObjectMeta, key, value)
	}
	m.Spec.Endpoint = p.address.endpoint
	m.Spec.CABundle = p.address.ca
	m.Spec.TLSServerName = p.address.tlsServerName
	m.Spec.ProxyURL = credentials.WithoutUser(p.address.proxyURL)
	m.Spec.CredentialsRef.Name = p.opts.Name
	m.Spec.Collector = p.collector
	m.Spec.NamespacePolicy = p.namespaces
	m.Spec.Suspend = cmp.Or(m.Spec.Suspend, v1alpha1.SuspendNone)
}
