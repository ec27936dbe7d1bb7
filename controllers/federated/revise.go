// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/revisions"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// revise writes the present spec as a ControllerRevision, unless that ControllerRevision exists already. After a write
// it deletes old revisions.
func (p *reconciliation) revise(ctx context.Context) error {
	resolved := upgrade.Resolve(p.wrapper.WrapperSpec(), &p.upgrade) // with the versions that the manager has taken
	present, err := revision.Of(resolved)
	if err != nil {
		p.invalid = err.Error()
		return nil
	}
	p.revision = p.history.Name(p.key.Kind, p.key.NamespacedName, present)
	if p.wrapper.WrapperStatus().UpdateRevision == p.revision {
		return nil
	}
	if p.writes.hasRevision(p.key, p.revision) {
		return nil
	}
	w := revisions.Writer{Client: p.client, Live: p.live, Key: p.history, Wrapper: p.wrapper, Name: p.revision}
	if err := w.Write(ctx, present); err != nil {
		return err
	}
	p.writes.noteRevision(p.key, p.revision)
	if p.wrapper.GetGeneration() <= revisions.Limit && len(p.upgrade.Subscriptions) == 0 {
		return nil // without approve: Latest, each generation adds at most one revision, so there cannot be too many yet
	}
	return w.Trim(ctx, func() map[string]bool {
		return revisionsInUse(p.revision, p.wrapper.WrapperStatus(), p.observer(p.key, p.wrapper, p.members).Revisions())
	})
}

// revisionsInUse returns the names of the revisions that must stay: the present one, those that the status names, and
// those on members.
func revisionsInUse(present string, status *v1alpha1.WrapperStatus, onMembers []string) map[string]bool {
	inUse := map[string]bool{present: true, status.CurrentRevision: true, status.UpdateRevision: true}
	inUse[status.Rollout.Revision], inUse[status.Rollout.LastGoodRevision] = true, true
	for i := range status.Clusters {
		inUse[status.Clusters[i].Revision] = true
	}
	for _, name := range onMembers {
		inUse[name] = true
	}
	return inUse
}
