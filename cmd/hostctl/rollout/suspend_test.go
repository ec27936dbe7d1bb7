// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

// managedBy returns a change of web: the given field manager owns these fields of the spec. They are in the format of managedFields.
func managedBy(manager, fields string) func(*v1alpha1.Federated) {
	return func(w *v1alpha1.Federated) {
		w.ManagedFields = append(w.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: v1alpha1.GroupVersion.String(), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{` + fields + `}}`)})
	}
}

func TestSuspendAndResumeSetSpecSuspend(t *testing.T) {
	set := func(policy v1alpha1.SuspendPolicy) func(*v1alpha1.Federated) {
		return func(w *v1alpha1.Federated) { w.Spec.Suspend = policy }
	}
	for name, test := range map[string]struct {
		verb   string
		change func(*v1alpha1.Federated)
		args   []string
		want   v1alpha1.SuspendPolicy
		code   int
		says   string
	}{
		"a rollout is held":         {"suspend", asIs, nil, v1alpha1.SuspendRollout, exit.Done, "spec.suspend is Rollout\n"},
		"it is held already":        {"suspend", set(v1alpha1.SuspendRollout), nil, v1alpha1.SuspendRollout, exit.Done, "is Rollout already"},
		"a dry run":                 {"suspend", asIs, []string{"--dry-run"}, "", exit.Done, "spec.suspend is Rollout (dry run)\n"},
		"a wave that has begun":     {"suspend", func(w *v1alpha1.Federated) { w.Status.Rollout.Begun = v1alpha1.Yes }, nil, v1alpha1.SuspendRollout, exit.Done, "wave last has begun"},
		"every write is stopped":    {"suspend", set(v1alpha1.SuspendAll), nil, v1alpha1.SuspendAll, exit.Failed, "it is All"},
		"nothing is paced":          {"suspend", func(w *v1alpha1.Federated) { w.Spec.Rollout = v1alpha1.Rollout{} }, nil, "", exit.Failed, "to stop all its writes, run `hostctl rollout suspend web -n shop --all`"},
		"a held rollout goes on":    {"resume", set(v1alpha1.SuspendRollout), nil, v1alpha1.SuspendNone, exit.Done, "spec.suspend is None\n"},
		"nothing is held":           {"resume", asIs, nil, "", exit.Done, "is None already"},
		"resume does not lift All":  {"resume", set(v1alpha1.SuspendAll), nil, v1alpha1.SuspendAll, exit.Failed, "run `hostctl rollout resume web -n shop --all`"},
		"all writes are stopped":    {"suspend", asIs, []string{"--all"}, v1alpha1.SuspendAll, exit.Done, "spec.suspend is All\n"},
		"a wave has begun":          {"suspend", func(w *v1alpha1.Federated) { w.Status.Rollout.Begun = v1alpha1.Yes }, []string{"--all"}, v1alpha1.SuspendAll, exit.Done, "is All\n"},
		"from Rollout to All":       {"suspend", set(v1alpha1.SuspendRollout), []string{"--all"}, v1alpha1.SuspendAll, exit.Done, "spec.suspend is All\n"},
		"all without a rollout":     {"suspend", func(w *v1alpha1.Federated) { w.Spec.Rollout = v1alpha1.Rollout{} }, []string{"--all"}, v1alpha1.SuspendAll, exit.Done, "is All\n"},
		"all are stopped already":   {"suspend", set(v1alpha1.SuspendAll), []string{"--all"}, v1alpha1.SuspendAll, exit.Done, "is All already"},
		"all writes go on":          {"resume", set(v1alpha1.SuspendAll), []string{"--all"}, v1alpha1.SuspendNone, exit.Done, "spec.suspend is None\n"},
		"resume --all of a rollout": {"resume", set(v1alpha1.SuspendRollout), []string{"--all"}, v1alpha1.SuspendNone, exit.Done, "spec.suspend is None\n"},
		"an agent writes it back":   {"suspend", managedBy("argocd-controller", `"f:suspend":{}`), nil, v1alpha1.SuspendRollout, exit.Done, "argocd-controller manages spec.suspend"},
		"an agent of another field": {"suspend", managedBy("argocd-controller", `"f:objects":{}`), nil, v1alpha1.SuspendRollout, exit.Done, "spec.suspend is Rollout\n"},
	} {
		t.Run(name, func(t *testing.T) {
			host := hostWith(t, web(test.change))
			s := newStreams("")
			o := newSuspend(s.IOStreams)
			o.setUp(host)
			cmd := newSuspendCommand(o)
			if test.verb == "resume" {
				cmd = newResumeCommand(o)
			}
			got := run(t, cmd, s, append([]string{"web", "-n", "shop"}, test.args...)...)
			said := got.stdout + got.stderr
			if got.err != nil {
				said += got.err.Error()
			}
			if got.code() != test.code || !strings.Contains(said, test.says) {
				t.Errorf("code %d, want %d and %q in:\n%s", got.code(), test.code, test.says, said)
			}
			if warns := strings.Contains(said, "will overwrite this change"); warns != (name == "an agent writes it back") {
				t.Errorf("it warns of an agent: %v", warns)
			}
			w := &v1alpha1.Federated{}
			if err := host.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, w); err != nil {
				t.Fatal(err)
			}
			if w.Spec.Suspend != test.want {
				t.Errorf("spec.suspend is %q, want %q", w.Spec.Suspend, test.want)
			}
		})
	}
}
