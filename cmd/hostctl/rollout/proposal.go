// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/federate/files"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout/preview"
	"github.com/fairlead-dev/fairlead/federate/author"
	"github.com/fairlead-dev/fairlead/internal/plain"
	"github.com/fairlead-dev/fairlead/overrides"
)

// proposal is a wrapper to preview, from the host or from a file.
type proposal struct {
	Target

	// wrapper is the wrapper after the change.
	wrapper v1alpha1.Wrapper
	// present is the wrapper on the host now; nil if the host does not have it. Without a file, present and wrapper are the same.
	present v1alpha1.Wrapper
	// source is the name of the file; "" if the wrapper comes from the host.
	source string
}

// proposals returns the wrapper that the user named, or the wrappers in the files. It can return both some wrappers and an error about
// others.
func (o *PreviewOptions) proposals(ctx context.Context) ([]proposal, error) {
	if len(o.Files) == 0 {
		w, err := o.wrapper(ctx)
		if err == nil && w.GetDeletionTimestamp() != nil {
			err = fmt.Errorf("previewing %s: %w", render.TitleOf(w), errDeleted)
		}
		if err != nil {
			return nil, err
		}
		return []proposal{{Target: o.Target, wrapper: w, present: w}}, nil
	}
	sources, err := files.Read(o.Files, o.Recursive, o.In, author.MaxOutput)
	if err != nil {
		return nil, err
	}
	found, notes, err := author.ParseWrappers(sources)
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		_, _ = fmt.Fprintf(o.ErrOut, "• %s\n", note)
	}
	var proposals []proposal
	var failed []error
	for i := range found {
		w := found[i].Wrapper
		if w.WrapperKind() == v1alpha1.KindFederated && w.GetNamespace() == "" {
			w.SetNamespace(o.namespace)
		}
		p := proposal{Target: o.Target, wrapper: w, source: found[i].Source}
		p.kind, p.namespace, p.name = w.WrapperKind(), w.GetNamespace(), w.GetName()
		if err := p.check(ctx); err != nil {
			failed = append(failed, fmt.Errorf("checking %s in %s: %w", render.TitleOf(w), p.source, err))
			continue
		}
		proposals = append(proposals, p)
	}
	return proposals, errors.Join(failed...)
}

// preview returns what package preview needs to know about the proposal.
func (p *proposal) preview() preview.Proposal {
	out := preview.Proposal{Wrapper: p.wrapper, Present: p.present, Source: p.source}
	if p.present != nil && p.present.WrapperStatus().Rollout.Exists() {
		now := &progress{Wrapper: render.TitleOf(p.present)}
		p.describe(now, p.present)
		out.Rollout = now.sentence(time.Time{})
	}
	return out
}

// check reads the present wrapper from the host, and makes the host's API server check the new wrapper in a dry run. It replaces
// p.wrapper by the result of the dry run, which has the API server's defaults. If the user may not write wrappers, or a webhook
// does not respond, hostctl makes most of admission's checks itself.
func (p *proposal) check(ctx context.Context) error {
	present := p.empty()
	switch err := p.host.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: p.name}, present); {
	case apierrors.IsNotFound(err):
		*p.wrapper.WrapperStatus() = v1alpha1.WrapperStatus{} // a file may have a status; the API server drops it at a creation, so drop it too
	case err != nil:
		return fmt.Errorf("reading it from the host: %w", err)
	case present.GetDeletionTimestamp() != nil:
		return errDeleted
	default:
		spec := p.wrapper.WrapperSpec().DeepCopy()
		p.present, p.wrapper = present, copyOf(present)
		*p.wrapper.WrapperSpec() = *spec
	}
	candidate := copyOf(p.wrapper)
	var err error
	if p.present == nil {
		err = p.host.Create(ctx, candidate, client.DryRunAll, client.FieldOwner(fieldManager))
	} else {
		err = p.host.Update(ctx, candidate, client.DryRunAll, client.FieldOwner(fieldManager))
	}
	switch {
	case err == nil:
		p.wrapper = candidate
		return nil
	case isUnchecked(err):
		_, _ = fmt.Fprintf(p.ErrOut, "• the host's API server did not check %s, so hostctl makes only its own checks: %s\n", render.TitleOf(p.wrapper), plain.Error(err))
		return overrides.ValidateWork(p.wrapper.WrapperSpec()).ToAggregate() // preview.Of makes the other checks of admission
	}
	return err
}

// isUnchecked reports whether the dry run failed for another cause than the wrapper: the user may not write wrappers, or a webhook does
// not respond.
func isUnchecked(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// clientWrapper is a Federated or a ClusterFederated, with the methods that a client needs.
type clientWrapper interface {
	client.Object
	v1alpha1.Wrapper
}

func (p *proposal) empty() clientWrapper {
	if p.kind == v1alpha1.KindClusterFederated {
		return &v1alpha1.ClusterFederated{}
	}
	return &v1alpha1.Federated{}
}

func copyOf(w v1alpha1.Wrapper) clientWrapper {
	return w.DeepCopyObject().(clientWrapper) //nolint:forcetypeassert // both kinds of wrapper implement clientWrapper
}
