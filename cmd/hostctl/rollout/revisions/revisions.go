// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/federate/revision"
)

// ErrHidden is the error for a revision that has a Secret. hostctl does not show its content.
var ErrHidden = errors.New("the revision contains a Secret, or an override that can apply to a Secret, so only the manager can read it and hostctl does not show it")

// List returns the wrapper's revisions on the host, the oldest first.
func List(ctx context.Context, host client.Reader, w v1alpha1.Wrapper) ([]appsv1.ControllerRevision, error) {
	list := &appsv1.ControllerRevisionList{}
	err := host.List(ctx, list, client.InNamespace(v1alpha1.Identity(w).Beside()),
		client.MatchingLabels{v1alpha1.LabelUID: string(w.GetUID())})
	if err != nil {
		return nil, fmt.Errorf("listing the revisions of %s: %w", render.TitleOf(w), err)
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// Numbered returns the index of the revision with this number. Two revisions can have the same number, for example after the host lost an
// encryption key; Numbered then returns the newer one.
func Numbered(list []appsv1.ControllerRevision, number int64) (int, error) {
	for i := range slices.Backward(list) {
		if list[i].Revision == number {
			return i, nil
		}
	}
	return 0, fmt.Errorf("there is no revision %d: the host keeps the last ten revisions and those in use", number)
}

// ContentOf returns the content of a revision. For a revision with a Secret it returns an error that wraps ErrHidden, also if the content is
// not encrypted, as in early versions of Fairlead.
func ContentOf(w v1alpha1.Wrapper, r *appsv1.ControllerRevision) (revision.Revision, error) {
	var noKey *revision.HistoryKey
	content, err := noKey.Decode(r.Data.Raw, w.GetUID(), r.Name)
	if errors.Is(err, revision.ErrOtherKey) || err == nil && content.HoldsSecret {
		return revision.Revision{}, fmt.Errorf("revision %d: %w", r.Revision, ErrHidden)
	}
	return content, err
}
