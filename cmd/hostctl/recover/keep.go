// SPDX-License-Identifier: Apache-2.0

package recover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/federate/approval"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// chosen returns the findings on the members that --cluster names; by default all findings.
func (o *Options) chosen(found findings) (findings, error) {
	for _, name := range o.Clusters {
		if !slices.ContainsFunc(found, func(f finding) bool { return f.member == name }) {
			return nil, fmt.Errorf("recovering %s: nothing waits for a decision on member %s; `hostctl recover` lists the members where something waits", o.name, name)
		}
	}
	if len(o.Clusters) == 0 {
		return found, nil
	}
	return slices.DeleteFunc(found, func(f finding) bool { return !slices.Contains(o.Clusters, f.member) }), nil
}

// keepHost carries out --keep host: it shows the effect, asks the user, and writes one Approval for all held findings.
func (o *Options) keepHost(ctx context.Context, host client.Client, namespace string, found findings) error {
	found, err := o.chosen(found)
	if err != nil {
		return err
	}
	held := slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return f.what == orphan })
	switch {
	case len(found) == 0:
		_, err := fmt.Fprintln(o.ErrOut, o.well())
		return err
	case len(held) == 0:
		return fmt.Errorf("recovering %s: the host has no such wrapper, or does not place it on these members, so it has no state to keep. Create the wrapper again from Git: "+
			"if the manager holds it, `hostctl recover` lists it", marks.WrapperPath(o.kind, namespace, o.name))
	}
	_, _ = fmt.Fprint(o.ErrOut, planOf(held))
	approval := approve(held)
	if o.DryRun {
		text, err := yaml.Marshal(approval)
		if err != nil {
			return err
		}
		_, err = o.Out.Write(text)
		return err
	}
	if !o.Yes {
		if err := ask.Confirm(o.IOStreams, "recovering "+o.name, "Overwrite?"); err != nil {
			return err
		}
	}
	if err := host.Create(ctx, approval); err != nil {
		return fmt.Errorf("writing the Approval: %w", err)
	}
	_, err = fmt.Fprintf(o.Out, "approval.%s/%s created\n", v1alpha1.Group, approval.Name)
	return err
}

func planOf(held findings) string {
	w := held[0].wrapper
	var b strings.Builder
	fmt.Fprintf(&b, "The host's state of %s will replace the present state on these members, this one time:\n",
		marks.WrapperPath(w.WrapperKind(), w.GetNamespace(), w.GetName()))
	for _, f := range held {
		fmt.Fprintf(&b, "  %s  %s: %s\n", f.member, f.what, effect(f))
	}
	return b.String()
}

// effect returns the text that tells what --keep host does on one member.
func effect(f finding) string {
	w := f.wrapper
	gone := fmt.Sprintf("; objects that the wrapper does not have are removed (onDelete: %s)", w.WrapperSpec().OnDelete)
	switch {
	case f.line.State == v1alpha1.StateRemoving:
		return fmt.Sprintf("the wrapper leaves the member, although the member has a newer version of it than the host (onDelete: %s)", w.WrapperSpec().OnDelete)
	case f.what == v1alpha1.ReasonHostBehindMember:
		return fmt.Sprintf("the objects on the member go back to generation %d", w.GetGeneration()) + gone
	}
	return "the objects that the Delivery lists become objects of this wrapper, with the same uids" + gone
}

func approve(held findings) *v1alpha1.Approval {
	spec := v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowOverwrite}
	for _, f := range held {
		spec.Clusters = append(spec.Clusters, f.member)
		spec.Overwrites = append(spec.Overwrites, v1alpha1.OverwrittenDelivery{Cluster: f.member,
			UID: f.line.Delivery.UID, Generation: f.line.Delivery.Generation})
	}
	return approval.New(held[0].wrapper, spec)
}

// keepMembers carries out --keep members: it prints how the user can change the host to fit the members. It writes nothing, because only
// the author has the manifests.
func (o *Options) keepMembers(namespace string, found findings) error {
	found, err := o.chosen(found)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(o.ErrOut, o.well())
		return err
	}
	path := marks.WrapperPath(o.kind, namespace, o.name)
	var b strings.Builder
	fmt.Fprintf(&b, "Nothing is written: these members keep their present state of %s.\n", path)
	for _, f := range found {
		fmt.Fprintf(&b, "\n%s  %s", f.member, f.what)
		if f.line != nil {
			fmt.Fprintf(&b, ", revision %s: %s", f.line.Revision, f.line.Message)
		}
		fmt.Fprintf(&b, "\n  its state:      kubectl --context %s get delivery -n %s %s -o yaml\n", f.member, v1alpha1.SystemNamespace, f.delivery)
		fmt.Fprintf(&b, "  to adopt it:    %s\n", way(f))
	}
	if _, err := fmt.Fprint(o.Out, b.String()); err != nil {
		return errors.Join(err)
	}
	return exit.Silently(exit.Waits)
}

// way returns the text that tells how to change the host to fit one member.
func way(f finding) string {
	switch f.what {
	case orphan:
		return "create the wrapper again from Git, placed on this member: the manager adopts the objects that equal the wrapper's, and changes no others"
	case v1alpha1.ReasonHostBehindMember:
		return "apply the newer manifest from Git: if its objects for this member equal the objects on the member, the manager ends the hold"
	}
	return "apply the manifest from Git that the member's objects came from: the manager adopts the objects that equal the wrapper's, if this host sealed the Delivery"
}
