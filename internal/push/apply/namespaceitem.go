// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// makeNamespace creates a Namespace that the wrapper lists, and then applies the rest. It creates it with its marks,
// so that Fairlead recognises it if the pass dies. again reports that another client was faster.
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

// closesNamespace reports whether the member has closed a namespace that is recorded as this wrapper's. If the
// namespace is gone or replaced, the apply finds that out.
func (a *applier) closesNamespace(ctx context.Context, it *item) (bool, error) {
	found, err := a.namespaces.get(ctx, it.object.Name)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil && memberapi.Answered(err):
		it.refused = true
		a.trouble.Add(memberapi.Explain("looking at", it.String(), err))
		return true, nil
	case err != nil:
		return false, fmt.Errorf("looking at %s on member %s: %w", it, a.conn.Name(), err)
	}
	return a.look.isClosed(it, found), nil
}
