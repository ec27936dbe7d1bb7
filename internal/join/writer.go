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
	goneTimeout        = 60 * time.Second // for what an unjoin a moment ago is still deleting
	establishedTimeout = 30 * time.Second
	pollEvery          = 200 * time.Millisecond
)

// writer writes to one cluster. In a dry run it sends each write as a dry run of the API server, which refuses the
// same writes as in a real run.
type writer struct {
	client client.Client
	// cluster is how messages call it: "member eu-1", "the host".
	cluster string
	dry     bool
}

// put creates or updates an object and returns it. The caller gives the object with its name only. fill gets the
// existing object, or the given one if there is none, and changes only Fairlead's fields. put writes nothing when
// nothing differs.
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

// retriable reports whether another client wrote the object first.
func retriable(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

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
		if w.dry && absent(err) { // a dry run has not created its namespace
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

// remove deletes an object that may be there.
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

// errAbsent: the object is not there, nor perhaps its kind.
var errAbsent = errors.New("not there")

func (w writer) get(ctx context.Context, obj client.Object) error {
	err := w.client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if absent(err) {
		return errAbsent
	}
	return err
}

// awaitGone waits for an object that is being deleted. A dry run does not wait: it continues as if the object were
// gone.
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
		return fmt.Errorf("its deletion began at %s and has not finished; finalizers: %q",
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
