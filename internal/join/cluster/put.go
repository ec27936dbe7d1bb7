// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// goneTimeout is how long AwaitGone waits, for example for objects that an earlier unjoin is still deleting.
const goneTimeout = 60 * time.Second

// Put creates or updates an object and returns it. obj needs only a name. If an object of that name exists, Put calls the
// function fill with it, and writes it only if the function changed something. If none exists, Put calls the function with
// a copy of obj and creates the result. The function must change only Fairlead's fields.
func Put[T client.Object](ctx context.Context, c Cluster, obj T, fill func(T)) (T, steps.Outcome, error) {
	var there T
	var outcome steps.Outcome
	err := retry.OnError(retry.DefaultRetry, Retriable, func() error {
		var err error
		there, outcome, err = putOnce(ctx, c, obj, fill)
		return err
	})
	if err != nil {
		return there, outcome, fmt.Errorf("writing %s to %s: %w", Describe(obj), c.Name, err)
	}
	return there, outcome, nil
}

// Retriable reports whether it can help to read the object again and repeat the write. It can help if another client, for
// example the garbage collector, wrote or deleted the object first. Retriable is also true in two cases in which the
// repeated write fails too: the namespace does not exist, or the cluster does not serve the kind. The API server answers
// as if another client had deleted the object.
func Retriable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || Absent(err)
}

func putOnce[T client.Object](ctx context.Context, c Cluster, obj T, fill func(T)) (T, steps.Outcome, error) {
	there := obj.DeepCopyObject().(T)
	err := c.Get(ctx, there)
	if err == nil && there.GetDeletionTimestamp() != nil {
		if err = c.AwaitGone(ctx, there); err == nil {
			err = ErrAbsent
		}
	}
	switch {
	case errors.Is(err, ErrAbsent):
		made := obj.DeepCopyObject().(T)
		fill(made)
		err := c.Client.Create(ctx, made, c.CreateOptions()...)
		if c.DryRun && Absent(err) { // the object's namespace does not exist, because a dry run does not create it
			err = nil
		}
		return made, steps.Created, err
	case err != nil:
		return there, "", err
	}
	before := there.DeepCopyObject()
	fill(there)
	if equality.Semantic.DeepEqual(before, there) {
		return there, steps.Unchanged, nil
	}
	return there, steps.Configured, c.Client.Update(ctx, there, c.UpdateOptions()...)
}

// Remove deletes an object. If the object does not exist, the outcome is Unchanged. In a dry run nothing is deleted, and
// the outcome is Removed.
func (c Cluster) Remove(ctx context.Context, obj client.Object) (steps.Outcome, error) {
	if err := c.Get(ctx, obj); err != nil {
		if errors.Is(err, ErrAbsent) {
			return steps.Unchanged, nil
		}
		return "", fmt.Errorf("removing %s from %s: %w", Describe(obj), c.Name, err)
	}
	if c.DryRun {
		return steps.Removed, nil
	}
	if err := c.Client.Delete(ctx, obj); err != nil && !Absent(err) {
		return "", fmt.Errorf("removing %s from %s: %w", Describe(obj), c.Name, err)
	}
	return steps.Removed, nil
}

// ErrAbsent is the error of Cluster.Get if the object does not exist, or if the cluster does not serve its kind.
var ErrAbsent = errors.New("not there")

// Get reads an object. It returns ErrAbsent if the object does not exist, or if the cluster does not serve its kind.
func (c Cluster) Get(ctx context.Context, obj client.Object) error {
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if Absent(err) {
		return ErrAbsent
	}
	return err
}

// AwaitGone waits until an object that is being deleted no longer exists. In a dry run it does not wait, and the join
// continues as if the object did not exist.
func (c Cluster) AwaitGone(ctx context.Context, obj client.Object) error {
	if c.DryRun {
		return nil
	}
	err := wait.PollUntilContextTimeout(ctx, PollEvery, goneTimeout, true, func(ctx context.Context) (bool, error) {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if Absent(err) {
			return true, nil
		}
		return false, err
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("its deletion began at %s and has not finished; it has the finalizers %q",
			obj.GetDeletionTimestamp().Format(time.RFC3339), obj.GetFinalizers())
	}
	return err
}

// CreateOptions returns the options of every create: hostctl's field manager, and a dry run if DryRun is set.
func (c Cluster) CreateOptions() []client.CreateOption {
	opts := []client.CreateOption{client.FieldOwner(FieldManager)}
	if c.DryRun {
		opts = append(opts, client.DryRunAll)
	}
	return opts
}

// UpdateOptions returns the options of CreateOptions for an update.
func (c Cluster) UpdateOptions() []client.UpdateOption {
	opts := []client.UpdateOption{client.FieldOwner(FieldManager)}
	if c.DryRun {
		opts = append(opts, client.DryRunAll)
	}
	return opts
}

// PatchOptions returns the options of CreateOptions for a patch.
func (c Cluster) PatchOptions() []client.PatchOption {
	opts := []client.PatchOption{client.FieldOwner(FieldManager)}
	if c.DryRun {
		opts = append(opts, client.DryRunAll)
	}
	return opts
}

// ApplyOptions returns the options of CreateOptions for a server-side apply, which takes fields from other field managers.
func (c Cluster) ApplyOptions() []client.ApplyOption {
	opts := []client.ApplyOption{client.FieldOwner(FieldManager), client.ForceOwnership}
	if c.DryRun {
		opts = append(opts, client.DryRunAll)
	}
	return opts
}
