// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// fieldManager is the name with which hostctl writes fields of wrappers.
const fieldManager = "hostctl"

// gitOpsAgents are words in the names that GitOps agents use as field managers. Such an agent writes the content of its repository to the
// host again, and so overwrites a change that hostctl made.
var gitOpsAgents = []string{"argocd", "flux", "kustomize-controller", "helm-controller"}

// patch applies change to a wrapper that the caller has read, and writes the difference. It returns an error if another program has changed
// the wrapper in between.
func (t *Target) patch(ctx context.Context, w v1alpha1.Wrapper, dryRun bool, change func()) error {
	base, ok := w.DeepCopyObject().(client.Object)
	obj, also := w.(client.Object)
	if !ok || !also {
		return fmt.Errorf("%T is not an object of the API", w)
	}
	change()
	options := []client.PatchOption{client.FieldOwner(fieldManager)}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	err := t.host.Patch(ctx, obj, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}), options...)
	if apierrors.IsConflict(err) {
		return errors.New("another program changed the wrapper at the same time, so hostctl wrote nothing: try again")
	}
	return err
}

// warnOfGitOps warns if a GitOps agent owns one of these fields of the spec, because the agent will overwrite the change.
func (t *Target) warnOfGitOps(w v1alpha1.Wrapper, fields ...string) {
	warned := make(map[string]bool)
	for _, entry := range w.GetManagedFields() {
		isAgent := slices.ContainsFunc(gitOpsAgents, func(agent string) bool { return strings.Contains(strings.ToLower(entry.Manager), agent) })
		if !isAgent || entry.FieldsV1 == nil || warned[entry.Manager] {
			continue
		}
		var owned struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned); err != nil {
			continue // no warning: hostctl does not know this form of managedFields
		}
		managed := slices.DeleteFunc(slices.Clone(fields), func(field string) bool { return owned.Spec["f:"+field] == nil })
		if len(managed) == 0 {
			continue
		}
		warned[entry.Manager] = true
		_, _ = fmt.Fprintf(t.ErrOut, "• %[1]s manages spec.%[2]s of this wrapper and will overwrite this change: make the same change in the repository of %[1]s\n",
			entry.Manager, strings.Join(managed, " and spec."))
	}
}

// dryRunMark returns what a message about a change ends with: " (dry run)", or "" if hostctl has written the change.
func dryRunMark(dryRun bool) string {
	if dryRun {
		return " (dry run)"
	}
	return ""
}
