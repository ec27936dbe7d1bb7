// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// makeNamespace creates a Namespace that the wrapper lists, and then applies its content. It creates the Namespace with
// Fairlead's marks: if the pass ends between the two requests, the next pass recognises the Namespace by these marks.
// again reports that another client created the Namespace first.
func (a *applier) makeNamespace(ctx context.Context, it *item) (again bool, err error) {
	ns := &unstructured.Unstructured{Object: map[string]any{}}
	ns.SetName(it.object.Name)
	a.objects.stamp(it, ns)
	made, err := a.namespaces.create(ctx, ns)
	switch {
	case apierrors.IsAlreadyExists(err):
		return true, nil
	case err != nil:
		return false, a.refusedApply(ctx, it, "", err)
	}
	return a.applyOver(ctx, it, made.UID, "")
}

// closesNamespace reports whether the pass must not apply a Namespace that the Delivery records as this wrapper's: the
// member has closed it to the host, or refuses to let the manager read it. For a Namespace that is gone or replaced it
// returns false, because the apply detects that.
func (a *applier) closesNamespace(ctx context.Context, it *item) (bool, error) {
	found, err := a.namespaces.get(ctx, it.object.Name)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil && memberapi.Answered(err):
		it.refused = true
		a.trouble.Add(memberapi.Explain("reading", it.String(), err))
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading %s on member %s: %w", it, a.conn.Name(), err)
	}
	return a.look.isClosed(it, found), nil
}
