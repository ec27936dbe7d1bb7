// SPDX-License-Identifier: Apache-2.0

package rollout

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

// errHidden is for a revision whose content hostctl does not show.
var errHidden = errors.New("it holds a Secret, or an override that can apply to one, so only the manager reads it and hostctl shows nothing of it")

// revisions are the revisions of a wrapper that the host keeps, the oldest first.
func (t *Target) revisions(ctx context.Context, w v1alpha1.Wrapper) ([]appsv1.ControllerRevision, error) {
	list := &appsv1.ControllerRevisionList{}
	err := t.host.List(ctx, list, client.InNamespace(v1alpha1.Identity(w).Beside()),
		client.MatchingLabels{v1alpha1.LabelUID: string(w.GetUID())})
	if err != nil {
		return nil, fmt.Errorf("listing the revisions of %s: %w", render.TitleOf(w), err)
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// numbered returns the index of the revision with a number. If a lost key made the manager write one again, it is the newer one.
func numbered(list []appsv1.ControllerRevision, number int64) (int, error) {
	for i := range slices.Backward(list) {
		if list[i].Revision == number {
			return i, nil
		}
	}
	return 0, fmt.Errorf("there is no revision %d: the host keeps ten and those in use", number)
}

// contentOf returns the content of a revision, or an error that wraps errHidden. An early version of Fairlead stored Secrets in
// clear, and hostctl shows these as little as the others.
func contentOf(w v1alpha1.Wrapper, r *appsv1.ControllerRevision) (revision.Revision, error) {
	var noKey *revision.HistoryKey
	content, err := noKey.Decode(r.Data.Raw, w.GetUID(), r.Name)
	if errors.Is(err, revision.ErrOtherKey) || err == nil && content.HoldsSecret {
		return revision.Revision{}, fmt.Errorf("revision %d: %w", r.Revision, errHidden)
	}
	return content, err
}
