// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// Target is the wrapper about which the user calls a command, with what the command needs to reach the host.
type Target struct {
	genericiooptions.IOStreams

	// Output is the format for programs; "" for text.
	Output string

	// Connect returns a client for the host. Tests set a function that needs no cluster.
	Connect func() (client.WithWatch, error)
	// Now returns the present time.
	Now func() time.Time
	// Screen returns where the text goes.
	Screen func() screen.Screen

	// Flags are the flags of the connection.
	Flags *genericclioptions.ConfigFlags

	// Complete sets the fields below.
	Kind            v1alpha1.WrapperKind
	Namespace, Name string
	Host            client.WithWatch
}

// NewTarget returns a Target that connects with the flags of the connection.
func NewTarget(streams genericiooptions.IOStreams) Target {
	flags := connect.Flags()
	return Target{IOStreams: streams, Now: time.Now, Screen: func() screen.Screen { return screen.Of(streams.Out) }, Flags: flags,
		Connect: func() (client.WithWatch, error) {
			scheme := runtime.NewScheme()
			if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
				return nil, err
			}
			return connect.WatchableHostWith(flags, scheme)
		}}
}

// Validate checks the format.
func (t *Target) Validate() error {
	if t.Output != "" && t.Output != encode.JSON && t.Output != encode.YAML {
		return exit.Usagef("--output %q: give json or yaml", t.Output)
	}
	return nil
}

// Complete parses the arguments that name the wrapper, and connects to the host. It does not send a request.
func (t *Target) Complete(args []string) error {
	var err error
	if t.Kind, t.Name, err = render.ParseName(strings.Join(args, "/")); err != nil {
		return err
	}
	if t.Kind == v1alpha1.KindFederated {
		if t.Namespace, err = connect.Namespace(t.Flags); err != nil {
			return err
		}
	}
	t.Host, err = t.Connect()
	return err
}

// Wrapper reads the wrapper, and makes the texts in its status safe to print.
func (t *Target) Wrapper(ctx context.Context) (v1alpha1.Wrapper, error) {
	w, err := connect.Wrapper(ctx, t.Host, t.Kind, t.Namespace, t.Name)
	if err != nil {
		return nil, err
	}
	if err := CleanStatus(w.WrapperStatus()); err != nil {
		return nil, fmt.Errorf("reading the status of %s: %w", render.TitleOf(w), err)
	}
	return w, nil
}

// Command returns `hostctl VERB` with the arguments for this wrapper. Messages show it.
func (t *Target) Command(verb string) string {
	return "hostctl " + verb + " " + messages.Argument(t.Kind, t.Namespace, t.Name)
}

// CompleteClusters returns the members of the wrapper that the arguments name, for the completion of --cluster. It reads only the
// wrapper, as the commands do.
func (t *Target) CompleteClusters(ctx context.Context, args []string) []string {
	return t.CompleteWith(MembersOf)(ctx, args)
}

// CompleteWith returns a function that completes a flag. The function reads the wrapper that the arguments name, and calls the parameter
// of with it. It returns the result of that call.
func (t *Target) CompleteWith(of func(v1alpha1.Wrapper) []string) func(context.Context, []string) []string {
	return func(ctx context.Context, args []string) []string {
		if len(args) == 0 || t.Complete(args) != nil {
			return nil
		}
		w, err := t.Wrapper(ctx)
		if err != nil {
			return nil
		}
		return of(w)
	}
}

// CompleteFrom does the same as CompleteWith, but calls the parameter of with the reports of the wrapper.
func (t *Target) CompleteFrom(of func([]v1alpha1.MemberReport) []string) func(context.Context, []string) []string {
	return func(ctx context.Context, args []string) []string {
		if len(args) == 0 || t.Complete(args) != nil {
			return nil
		}
		w, err := t.Wrapper(ctx)
		if err != nil {
			return nil
		}
		reports, err := Reports(ctx, t.Host, w)
		if err != nil {
			return nil
		}
		return of(reports)
	}
}

// MembersOf returns the names of the members on which a wrapper is placed, and of those that it is leaving, sorted.
func MembersOf(w v1alpha1.Wrapper) []string {
	status := w.WrapperStatus()
	names := slices.Concat(status.Placement.Clusters, status.Placement.Leaving)
	for i := range status.Clusters {
		names = append(names, status.Clusters[i].Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const (
	// MaxKnown is how many names an error lists.
	MaxKnown = 20
	// MaxNames is how many names of members a line has.
	MaxNames = 5
)

// CheckClusters returns an error for the first name that is not a member of the wrapper. The error lists the members.
func CheckClusters(w v1alpha1.Wrapper, chosen []string) error {
	known := MembersOf(w)
	for _, name := range slices.Sorted(slices.Values(chosen)) {
		switch {
		case slices.Contains(known, name):
		case len(known) == 0:
			return exit.Usagef("--cluster %s: %s is on no member", name, render.TitleOf(w))
		default:
			return exit.Usagef("--cluster %s: %s is not on this member; it is on %s", name, render.TitleOf(w), messages.Few(known, MaxKnown))
		}
	}
	return nil
}
