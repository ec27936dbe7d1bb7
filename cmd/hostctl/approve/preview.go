// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/retention"
)

// most is the largest number of names in one line of output.
const most = 20

// plan returns the text that tells the user what the Approval will do.
func plan(w v1alpha1.Wrapper, a *v1alpha1.Approval) string {
	if a.Spec.Rollout != "" {
		return rolloutPlan(w, a)
	}
	var b strings.Builder
	removed, kept := partition(w)
	clusters := few(a.Spec.Clusters)
	if a.Spec.Allow == v1alpha1.AllowRelease {
		fmt.Fprintf(&b, "Fairlead will no longer wait for the removal of %s from %s.\n", render.TitleOf(w), clusters)
		fmt.Fprintf(&b, "These objects and the Delivery that lists them stay there, even if the cluster answers again later:\n  %s\n",
			few(slices.Concat(removed, kept)))
		rest := slices.DeleteFunc(slices.Clone(awaited(w)), func(name string) bool { return slices.Contains(a.Spec.Clusters, name) })
		if len(rest) > 0 {
			fmt.Fprintf(&b, "Fairlead still waits for the removal from %s.\n", few(rest))
		}
		return b.String()
	}
	fmt.Fprintf(&b, "%s will leave %s now (onDelete: %s):\n", render.TitleOf(w), clusters, policyOf(w))
	fmt.Fprintf(&b, "  removed: %s\n", orNothing(removed))
	fmt.Fprintf(&b, "  kept:    %s\n", orNothing(kept))
	if policyOf(w) == v1alpha1.KeepData && len(removed) > 0 {
		b.WriteString("The state on the cluster decides: objects that own a claim, that have an operator's finalizer, or that are annotated\n" +
			"keep: \"true\" there are kept as well. Events of the wrapper (reason Kept) name them.\n")
	}
	rest := slices.DeleteFunc(slices.Clone(w.WrapperStatus().Placement.Withheld), func(name string) bool {
		return slices.Contains(a.Spec.Clusters, name)
	})
	if len(rest) > 0 {
		fmt.Fprintf(&b, "The wrapper stays on %s until you approve that removal too, or until the hourly limit (spec.rollout.maxRemoval) allows it.\n", few(rest))
	}
	return b.String()
}

// partition predicts which of the wrapper's objects the manager will remove from a member, and which it will keep. It reads only the
// wrapper. The manager also reads the objects on the member, for example their annotation keep, so it may decide otherwise.
func partition(w v1alpha1.Wrapper) (removed, kept []string) {
	spec := w.WrapperSpec()
	for i := range spec.Objects {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(spec.Objects[i].Raw); err != nil {
			continue // the manager does not push an object that it cannot decode
		}
		title := obj.GetKind() + " " + obj.GetName()
		if retention.IsKept(policyOf(w), obj.GroupVersionKind().GroupKind(), obj.GetAnnotations()[v1alpha1.AnnotationKeep]) {
			kept = append(kept, title)
		} else {
			removed = append(removed, title)
		}
	}
	return removed, kept
}

func policyOf(w v1alpha1.Wrapper) v1alpha1.DeletionPolicy {
	if policy := w.WrapperSpec().OnDelete; policy != "" {
		return policy
	}
	return v1alpha1.KeepData
}

func orNothing(titles []string) string {
	if len(titles) == 0 {
		return "nothing"
	}
	return few(titles)
}

func few(names []string) string { return messages.Few(names, most) }

// print writes the Approval to standard output in the format of --output.
func (o *Options) print(a *v1alpha1.Approval) error {
	a.ManagedFields = nil
	a.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Approval"))
	name := "approval." + v1alpha1.Group + "/" + a.Name
	var data []byte
	var err error
	switch o.Output {
	case "yaml":
		data, err = yaml.Marshal(a)
	case "json":
		data, err = json.MarshalIndent(a, "", "    ")
		data = append(data, '\n')
	case "name":
		data = []byte(name + "\n")
	default:
		if o.DryRun {
			name += " created (dry run)\n"
		} else {
			name += " created\n"
		}
		data = []byte(name)
	}
	if err != nil {
		return fmt.Errorf("encoding the Approval: %w", err)
	}
	_, err = o.Out.Write(data)
	return err
}
