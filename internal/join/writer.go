// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// fieldManager is the field manager of hostctl's writes.
const fieldManager = "hostctl"

const (
	goneTimeout        = 60 * time.Second // how long to wait for objects that an earlier unjoin is still deleting
	establishedTimeout = 30 * time.Second
	pollEvery          = 200 * time.Millisecond
)

// writer writes to one cluster. In a dry run it sends each write as a dry run, which the API server refuses for the
// same reasons as the real write.
type writer struct {
	client client.Client
	// cluster is the cluster's name in messages: "member eu-1", "the host".
	cluster string
	dry     bool
}

// put creates or updates an object and returns it. obj needs only a name. If an object of that name exists, put calls fill
// with it, and writes it only if fill changed something. If none exists, put calls fill with a copy of obj and creates the
// result. fill must change only Fairlead's fields.
func put[T client.Object](ctx context.Context, w writer, obj T, fill func(T)) (T, Outcome, error) {
	var there T
	var outcome Outcome
	err := retry.OnError(retry.DefaultRetry, retriable, func() error {
		var err error
		there, outcome, err = putOnce(ctx, w, obj, fill)
		return err
	})
	return there, outcome, wrapf(err, "writing %s to %s", describe(obj), w.cluster)
}

// retriable reports whether it can help to read the object again and repeat the write. It can if another client, for
// example the garbage collector, wrote or deleted the object first. retriable is also true if the namespace does not exist
// or the cluster does not serve the kind, because the API server answers in the same way; the repeated write then fails
// too.
func retriable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || absent(err)
}

func putOnce[T client.Object](ctx context.Context, w writer, obj T, fill func(T)) (T, Outcome, error) {
	there := obj.DeepCopyObject().(T)
	err := w.get(ctx, there)
	if err == nil && there.GetDeletionTimestamp() != nil {
		if err = w.awaitGone(ctx, there); err == nil {
			err = errAbsent
		}
	}
	switch {
	case errors.Is(err, errAbsent):
		made := obj.DeepCopyObject().(T)
		fill(made)
		err := w.client.Create(ctx, made, w.createOptions()...)
		if w.dry && absent(err) { // the object's namespace does not exist, because a dry run does not create it
			err = nil
		}
		return made, Created, err
	case err != nil:
		return there, "", err
	}
	before := there.DeepCopyObject()
	fill(there)
	if equality.Semantic.DeepEqual(before, there) {
		return there, Unchanged, nil
	}
	return there, Configured, w.client.Update(ctx, there, w.updateOptions()...)
}

// remove deletes an object. If the object does not exist, the outcome is Unchanged. In a dry run nothing is deleted, and
// the outcome is Removed.
func (w writer) remove(ctx context.Context, obj client.Object) (Outcome, error) {
	if err := w.get(ctx, obj); err != nil {
		if errors.Is(err, errAbsent) {
			return Unchanged, nil
		}
		return "", fmt.Errorf("removing %s from %s: %w", describe(obj), w.cluster, err)
	}
	if w.dry {
		return Removed, nil
	}
	if err := w.client.Delete(ctx, obj); err != nil && !absent(err) {
		return "", fmt.Errorf("removing %s from %s: %w", describe(obj), w.cluster, err)
	}
	return Removed, nil
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
			return true
		}
	}
	return false
}

// errAbsent is the error of writer.get if the object does not exist, or if the cluster does not serve its kind.
var errAbsent = errors.New("not there")

func (w writer) get(ctx context.Context, obj client.Object) error {
	err := w.client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if absent(err) {
		return errAbsent
	}
	return err
}

// awaitGone waits until an object that is being deleted no longer exists. In a dry run it does not wait, and the join
// continues as if the object did not exist.
func (w writer) awaitGone(ctx context.Context, obj client.Object) error {
	if w.dry {
		return nil
	}
	err := wait.PollUntilContextTimeout(ctx, pollEvery, goneTimeout, true, func(ctx context.Context) (bool, error) {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if absent(err) {
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

func (w writer) createOptions() []client.CreateOption {
	opts := []client.CreateOption{client.FieldOwner(fieldManager)}
	if w.dry {
		opts = append(opts, client.DryRunAll)
	}
	return opts
}

func (w writer) updateOptions() []client.UpdateOption {
	opts := []client.UpdateOption{client.FieldOwner(fieldManager)}
	if w.dry {
		opts = append(opts, client.DryRunAll)
	}
	return opts
}

func (w writer) patchOptions() []client.PatchOption {
	opts := []client.PatchOption{client.FieldOwner(fieldManager)}
	if w.dry {
		opts = append(opts, client.DryRunAll)
	}
	return opts
}

func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// describe names an object for people: "ClusterRole fairlead-host".
func describe(obj client.Object) string {
	kind := fmt.Sprintf("%T", obj)
	if gvk, err := apiutil.GVKForObject(obj, scheme); err == nil {
		kind = gvk.Kind
	}
	if obj.GetNamespace() != "" {
		return kind + " " + obj.GetNamespace() + "/" + obj.GetName()
	}
	return kind + " " + obj.GetName()
}

func wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
