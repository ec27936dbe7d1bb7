// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func (i *item) isNamespace() bool { return i.groupKind() == schema.GroupKind{Kind: "Namespace"} }

// isOpen reports whether the member lets the host write into a namespace, and to the Namespace itself.
func (p *pass) isOpen(namespace *metav1.PartialObjectMetadata) bool {
	return p.want.Namespaces == v1alpha1.NamespacesAll ||
		namespace.Labels[v1alpha1.LabelMade] == "true" || namespace.Labels[v1alpha1.LabelOpen] == "true" || marks.CreatedBefore(namespace)
}

func notOpen(namespace string) trouble {
	return stalled(v1alpha1.ReasonNamespaceNotOpen,
		"namespace %[1]s was not made by Fairlead and is not open to it: `kubectl label namespace %[1]s %[2]s=true` on the member opens it, or `hostctl join --namespaces All` opens all",
		namespace, v1alpha1.LabelOpen)
}

func (p *pass) namespace(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	return metadata(ctx, p.conn, member.Path(namespaces, "", name))
}

// createNamespace creates a namespace with LabelMade. It is the only place that sends the label: an apply that had it would
// put it on a namespace that others have created. An error may be AlreadyExists.
func (p *pass) createNamespace(ctx context.Context, ns *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
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
	answer, err := member.Do(ctx, p.conn.REST().Post().AbsPath(member.Path(namespaces, "", "")...).
		Param("fieldManager", v1alpha1.FieldManager).Body(body), true)
	if err != nil {
		return nil, err
	}
	made := &metav1.PartialObjectMetadata{}
	return made, answer.Into(made)
}

// makeNamespace creates a Namespace that the wrapper lists, with its marks so that it is known for ours should the pass die,
// and then applies the rest. again reports that another client was faster.
func (p *pass) makeNamespace(ctx context.Context, it *item) (again bool, err error) {
	ns := &unstructured.Unstructured{Object: map[string]any{}}
	ns.SetName(it.object.Name)
	p.stamp(it, ns)
	made, err := p.createNamespace(ctx, ns)
	switch {
	case apierrors.IsAlreadyExists(err):
		return true, nil
	case err != nil:
		return false, p.refusedApply(ctx, it, "", err)
	}
	return p.applyOver(ctx, it, made.UID, "")
}

// closesNamespace looks whether the member has closed a namespace that is recorded as ours. What is gone, or another one by
// now, the apply finds out.
func (p *pass) closesNamespace(ctx context.Context, it *item) (bool, error) {
	found, err := p.namespace(ctx, it.object.Name)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil && answered(err):
		it.refused = true
		p.trouble = append(p.trouble, explain("looking at", it.String(), err))
		return true, nil
	case err != nil:
		return false, fmt.Errorf("looking at %s on member %s: %w", it, p.conn.Name(), err)
	}
	return p.isClosed(it, found), nil
}

// isClosed reports whether a namespace is one that must not be written, and has that told.
func (p *pass) isClosed(it *item, found *metav1.PartialObjectMetadata) bool {
	if !it.isNamespace() || p.isOpen(found) {
		return false
	}
	it.refused = true
	p.trouble = append(p.trouble, notOpen(found.Name))
	return true
}
