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

// orphan stands in column WHAT for an orphan. For a held Delivery the column has the reason in the member's line of the wrapper's
// status.
const orphan = "Orphan"

// unnamedHeld stands in column WHAT for members that have no line in the wrapper's status and may be held. A status has 500 lines at
// most.
const unnamedHeld = "Held"

// notReady stands in column WHAT for a member that is not Ready. The host cannot read this member's Deliveries now.
const notReady = "NotReady"

// finding is one line of the output: a Delivery that does not fit the host's wrappers, or a number of such Deliveries whose names or
// members the host does not know, or a member that is not Ready.
type finding struct {
	member string
	// what is orphan, unnamedHeld, notReady, or for a held Delivery the reason in the member's line.
	what string
	// delivery is the name of the Delivery on the member; "" if the host does not know the name, and for notReady.
	delivery string
	// more is set only in a finding that stands for several Deliveries, whose names or members the host does not know. For orphan it is
	// the number of orphans that the MemberCluster's status does not name. For unnamedHeld it is the number of members that have no line
	// and may be held.
	more int32
	// wrapper is the wrapper on the host that has the Delivery's name; nil if there is none.
	wrapper v1alpha1.Wrapper
	// line is the member's line in the wrapper's status; nil unless the wrapper is held on the member.
	line *v1alpha1.ClusterStatus
}

type findings []finding

// inventory is what find has read from the host.
type inventory struct {
	// findings are the findings about Deliveries, sorted by member.
	findings findings
	// silent has one finding for each member that is not Ready.
	silent findings
	// unserved are the kinds of wrappers that the host does not serve, because their CRDs were deleted. All wrappers of these kinds are
	// gone, too.
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

// addMember adds the orphans in the status of a MemberCluster. It leaves out a Delivery whose wrapper has a line for this member: the
// wrapper has been placed there again, so the Delivery is no orphan, and the manager has not updated the MemberCluster yet.
func (f *inventory) addMember(mc *v1alpha1.MemberCluster, known map[string]v1alpha1.Wrapper) {
	if !meta.IsStatusConditionTrue(mc.Status.Conditions, v1alpha1.ConditionReady) {
		f.silent = append(f.silent, finding{member: mc.Name, what: notReady})
	}
	for _, name := range mc.Status.Orphans.Names {
		if w := known[name]; w == nil || !hasLine(w, mc.Name) {
			f.findings = append(f.findings, finding{member: mc.Name, what: orphan, delivery: name, wrapper: w})
		}
	}
	if more := mc.Status.Orphans.Count - int32(len(mc.Status.Orphans.Names)); more > 0 { //nolint:gosec // the status names ten orphans at most
		f.findings = append(f.findings, finding{member: mc.Name, what: orphan, more: more})
	}
}

func hasLine(w v1alpha1.Wrapper, member string) bool {
	if decided := w.WrapperStatus().Placement; w.WrapperStatus().ClustersOmitted > 0 &&
		(slices.Contains(decided.Clusters, member) || slices.Contains(decided.Leaving, member)) {
		return true // the member's line may be one of those that the status omits
	}
	return slices.ContainsFunc(w.WrapperStatus().Clusters, func(line v1alpha1.ClusterStatus) bool { return line.Name == member })
}

// addHeld adds a finding for each member on which a wrapper is held.
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

// heldWithoutLine returns how many members without a line in the status may be held. The manager writes the lines of held members
// first. So if there is a line of a member that is not held, all held members have lines, and the result is 0.
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

// of returns the findings about the Delivery of one wrapper. The host need not have this wrapper.
func (f findings) of(kind v1alpha1.WrapperKind, namespace, name string) findings {
	delivery := marks.DeliveryName(kind, namespace, name)
	return slices.DeleteFunc(slices.Clone(f), func(one finding) bool { return one.delivery != delivery })
}

// unnamed returns the findings that only count orphans. Each of these orphans could be the Delivery of the wrapper that the user named.
func (f findings) unnamed() findings {
	return slices.DeleteFunc(slices.Clone(f), func(one finding) bool { return one.more == 0 || one.what != orphan })
}

func (f findings) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "MEMBER\tWHAT\tOF\tDO") // Flush returns the error
	for _, one := range f {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", one.member, one.what, one.of(), one.advice())
	}
	return w.Flush()
}

// of returns the text for column OF: the path of the wrapper, for example federated/shop/web, or a number of Deliveries.
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

// advice returns the text for column DO: what the user can do about the finding.
func (f finding) advice() string {
	switch {
	case f.what == notReady:
		return "the host cannot read its Deliveries now: kubectl describe membercluster " + f.member
	case f.delivery == "":
		return "list the Deliveries on the member: kubectl get deliveries -n " + v1alpha1.SystemNamespace
	case f.what == unnamedHeld:
		return "the wrapper's status has no more lines (500 at most): run this command again when the listed members are no longer held"
	case f.what == orphan && strings.HasPrefix(f.of(), "Delivery "):
		return "no wrapper can have this Delivery's name, so Fairlead did not write it: look at it on the member"
	case f.what == orphan && f.wrapper != nil:
		return "place the wrapper on the member again (spec.placement), or leave the objects as they are"
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
