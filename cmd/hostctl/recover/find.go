// SPDX-License-Identifier: Apache-2.0

package recover

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// orphan is what column WHAT says of a Delivery without a wrapper. No status has a line for it, so no line gives a reason.
const orphan = "Orphan"

// unnamedHeld is what column WHAT says of members that may be held but have no line: a status has 500 lines at most.
const unnamedHeld = "Held"

// notReady is what column WHAT says of a member that is not Ready: the host does not know what the member holds now.
const notReady = "NotReady"

// finding is one difference between a Delivery on a member and the wrappers of the host.
type finding struct {
	member string
	// what is orphan, or the reason of the wrapper's line.
	what string
	// delivery is the name of the Delivery on the member; "" for orphans that the status only counts.
	delivery string
	// more is the number of orphans that the status of a MemberCluster counts without their names. For unnamedHeld it is the
	// number of members that the status of a wrapper counts without a line.
	more int32
	// wrapper is the wrapper to which the Delivery's name belongs, nil if the host has none. line is the wrapper's line for a member
	// where the wrapper is held.
	wrapper v1alpha1.Wrapper
	line    *v1alpha1.ClusterStatus
}

type findings []finding

// inventory is the result of find.
type inventory struct {
	// findings are all differences, sorted by member. silent are the members that are not Ready: the host does not know what they
	// hold now.
	findings, silent findings
	// unserved are the kinds of wrappers that the host does not serve. Their CRDs are gone, and all wrappers of these kinds with them.
	unserved []v1alpha1.WrapperKind
}

// find reads the inventory from the host.
func find(ctx context.Context, host client.Reader) (f inventory, err error) {
	members, feds, cfeds := &v1alpha1.MemberClusterList{}, &v1alpha1.FederatedList{}, &v1alpha1.ClusterFederatedList{}
	for _, of := range []struct {
		list   client.ObjectList
		kind   v1alpha1.WrapperKind
		plural string
	}{{members, "", "MemberClusters"}, {feds, v1alpha1.KindFederated, "Federateds"}, {cfeds, v1alpha1.KindClusterFederated, "ClusterFederateds"}} {
		err := host.List(ctx, of.list)
		switch {
		case of.kind != "" && (meta.IsNoMatchError(err) || apierrors.IsNotFound(err)):
			f.unserved = append(f.unserved, of.kind)
		case err != nil:
			return inventory{}, fmt.Errorf("listing the %s of the host: %w", of.plural, err)
		}
	}
	known := make(map[string]v1alpha1.Wrapper, len(feds.Items)+len(cfeds.Items))
	for i := range feds.Items {
		known[deliveryOf(&feds.Items[i])] = &feds.Items[i]
	}
	for i := range cfeds.Items {
		known[deliveryOf(&cfeds.Items[i])] = &cfeds.Items[i]
	}
	for i := range members.Items {
		f.addMember(&members.Items[i], known)
	}
	for _, w := range known {
		f.addHeld(w)
	}
	slices.SortFunc(f.findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.member, b.member), cmp.Compare(a.more, b.more), cmp.Compare(a.what, b.what), cmp.Compare(a.delivery, b.delivery))
	})
	return f, nil
}

// addMember adds the orphans that the status of a MemberCluster names. It leaves out a Delivery whose wrapper has a line for the
// member: that is no orphan any more, and the status of the MemberCluster follows a moment later.
func (f *inventory) addMember(mc *v1alpha1.MemberCluster, known map[string]v1alpha1.Wrapper) {
	if !meta.IsStatusConditionTrue(mc.Status.Conditions, v1alpha1.ConditionReady) {
		f.silent = append(f.silent, finding{member: mc.Name, what: notReady})
	}
	for _, name := range mc.Status.Orphans.Names {
		if w := known[name]; w == nil || !hasLine(w, mc.Name) {
			f.findings = append(f.findings, finding{member: mc.Name, what: orphan, delivery: name, wrapper: w})
		}
	}
	if more := mc.Status.Orphans.Count - int32(len(mc.Status.Orphans.Names)); more > 0 { //nolint:gosec // ten at most
		f.findings = append(f.findings, finding{member: mc.Name, what: orphan, more: more})
	}
}

func hasLine(w v1alpha1.Wrapper, member string) bool {
	if decided := w.WrapperStatus().Placement; w.WrapperStatus().ClustersOmitted > 0 &&
		(slices.Contains(decided.Clusters, member) || slices.Contains(decided.Leaving, member)) {
		return true // the status may have left its line out
	}
	return slices.ContainsFunc(w.WrapperStatus().Clusters, func(line v1alpha1.ClusterStatus) bool { return line.Name == member })
}

// addHeld adds the members where a wrapper is held.
func (f *inventory) addHeld(w v1alpha1.Wrapper) {
	lines := w.WrapperStatus().Clusters
	for i := range lines {
		if lines[i].Delivery != nil {
			f.findings = append(f.findings, finding{member: lines[i].Name, what: lines[i].Reason, wrapper: w, line: &lines[i],
				delivery: deliveryOf(w)})
		}
	}
	if n := heldWithoutLine(w); n > 0 {
		f.findings = append(f.findings, finding{what: unnamedHeld, wrapper: w, delivery: deliveryOf(w), more: n})
	}
}

// heldWithoutLine returns how many members may be held without a line. Lines of held members come before all other lines. So if
// there is any other line, every held member has one.
func heldWithoutLine(w v1alpha1.Wrapper) int32 {
	status := w.WrapperStatus()
	if slices.ContainsFunc(status.Clusters, func(line v1alpha1.ClusterStatus) bool { return line.Delivery == nil }) {
		return 0
	}
	var n int32
	for _, omitted := range status.ClustersOmittedByState {
		if omitted.State == v1alpha1.StateHeld || omitted.State == v1alpha1.StateRemoving {
			n += omitted.Count
		}
	}
	return n
}

func deliveryOf(w v1alpha1.Wrapper) string {
	return marks.DeliveryName(w.WrapperKind(), w.GetNamespace(), w.GetName())
}

// of returns the findings about one wrapper, whether the host has it or not.
func (f findings) of(kind v1alpha1.WrapperKind, namespace, name string) findings {
	delivery := marks.DeliveryName(kind, namespace, name)
	return slices.DeleteFunc(slices.Clone(f), func(one finding) bool { return one.delivery != delivery })
}

// unnamed returns the orphans that the status only counts. The wrapper that the user asks about may be among them.
func (f findings) unnamed() findings {
	return slices.DeleteFunc(slices.Clone(f), func(one finding) bool { return one.more == 0 || one.what != orphan })
}

func (f findings) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "MEMBER\tWHAT\tOF\tDO") // Flush says what went wrong
	for _, one := range f {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", one.member, one.what, one.of(), one.advice())
	}
	return w.Flush()
}

// of returns the wrapper's path, as in federated/shop/web, if the Delivery's name tells it.
func (f finding) of() string {
	switch {
	case f.what == notReady:
		return "?"
	case f.delivery == "":
		return fmt.Sprintf("%d more", f.more)
	case f.what == unnamedHeld:
		return fmt.Sprintf("%d more of %s", f.more, marks.WrapperPath(f.wrapper.WrapperKind(), f.wrapper.GetNamespace(), f.wrapper.GetName()))
	}
	if name, ok := strings.CutPrefix(f.delivery, "cfed."); ok {
		return marks.WrapperPath(v1alpha1.KindClusterFederated, "", name)
	}
	rest, ok := strings.CutPrefix(f.delivery, "fed.")
	namespace, name, two := strings.Cut(rest, ".")
	if !ok || !two {
		return "Delivery " + f.delivery
	}
	return marks.WrapperPath(v1alpha1.KindFederated, namespace, name)
}

// advice returns what the user can do.
func (f finding) advice() string {
	switch {
	case f.what == notReady:
		return "the host does not know what it holds now: kubectl describe membercluster " + f.member
	case f.delivery == "":
		return "list them on the member: kubectl get deliveries -n " + v1alpha1.SystemNamespace
	case f.what == unnamedHeld:
		return "a status has 500 lines: run this again when its other members are done"
	case f.what == orphan && strings.HasPrefix(f.of(), "Delivery "):
		return "its name fits no wrapper, so Fairlead did not write it: look at it on the member"
	case f.what == orphan && f.wrapper != nil:
		return "place the wrapper there again (spec.placement), or leave what is there"
	case f.what == orphan:
		return "create the wrapper again from Git: the manager adopts equal objects, and holds the wrapper if they differ"
	}
	return command(f.wrapper) + " --keep host|members"
}

func command(w v1alpha1.Wrapper) string {
	if w.WrapperKind() == v1alpha1.KindClusterFederated {
		return "hostctl recover cfed/" + w.GetName()
	}
	return "hostctl recover " + w.GetName() + " -n " + w.GetNamespace()
}
