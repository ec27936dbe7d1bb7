// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Namespaces reads and creates namespaces on one member.
type Namespaces struct {
	conn *member.Conn
	// policy says which namespaces of the member are open to the host.
	policy v1alpha1.NamespacePolicy
	// hostLabels reads the labels of a namespace on the host. If it is nil, namespaces get no Pod Security labels.
	hostLabels HostLabels
	// cache remembers which namespaces a pass has recently found open to the host; nil remembers none.
	cache *Cache
}

// New gives access to the namespaces of a member. policy says which of them are open to the host. hostLabels reads the
// labels of a namespace on the host. If it is nil, new namespaces do not get the Pod Security labels of the host's
// namespace. cache remembers which namespaces are open; nil remembers none.
func New(conn *member.Conn, policy v1alpha1.NamespacePolicy, hostLabels HostLabels, cache *Cache) *Namespaces {
	return &Namespaces{conn: conn, policy: policy, hostLabels: hostLabels, cache: cache}
}

// IsOpen reports whether the host may write to a Namespace and into it. It may if the policy allows every namespace, or
// if a label says that Fairlead created it or that the member's administrator opened it. It also may if an earlier
// version of Fairlead created the Namespace without that label.
func (n *Namespaces) IsOpen(namespace *metav1.PartialObjectMetadata) bool {
	return n.policy == v1alpha1.NamespacesAll ||
		namespace.Labels[v1alpha1.LabelMade] == "true" || namespace.Labels[v1alpha1.LabelOpen] == "true" || marks.CreatedBefore(namespace)
}

// NotOpen returns the trouble with a namespace that is not open to the host.
func NotOpen(namespace string) memberapi.Trouble {
	return memberapi.Stalled(v1alpha1.ReasonNamespaceNotOpen,
		"Fairlead did not create namespace %[1]s, and the member has not opened it: `kubectl label namespace %[1]s %[2]s=true` on the member opens it, "+
			"or `hostctl join --namespaces All` opens all",
		namespace, v1alpha1.LabelOpen)
}

// Get reads the metadata of a namespace.
func (n *Namespaces) Get(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	return memberapi.Metadata(ctx, n.conn, member.Path(namespaceResource, "", name))
}

// Create creates a namespace with LabelMade, which says that Fairlead created it. No other request sends this label: an
// apply with the label would also set it on a namespace that another client created. The error is AlreadyExists if the
// namespace exists.
func (n *Namespaces) Create(ctx context.Context, ns *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	labels := ns.GetLabels()
	if labels == nil {
		labels = make(map[string]string, 1)
	}
	labels[v1alpha1.LabelMade] = "true"
	ns.SetLabels(labels)
	body, err := ns.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding Namespace %s: %w", ns.GetName(), err)
	}
	answer, err := member.Do(ctx, n.conn.REST().Post().AbsPath(member.Path(namespaceResource, "", "")...).
		Param("fieldManager", v1alpha1.FieldManager).Body(body), true)
	if err != nil {
		return nil, err
	}
	made := &metav1.PartialObjectMetadata{}
	return made, answer.Into(made)
}
