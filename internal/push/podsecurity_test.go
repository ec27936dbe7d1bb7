// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

func TestANamespaceCreatedForAFederatedGetsTheHostsPodSecurityLabels(t *testing.T) {
	s := newSite(t)
	asked := 0
	push := func(w *Desired, labels map[string]string, err error) plan.Outcome {
		out, wire := (&pass{conn: s.conn, want: w, hostLabels: func(_ context.Context, name string) (map[string]string, error) {
			if asked++; name != s.namespace {
				t.Errorf("read the labels of %s", name)
			}
			return labels, err
		}}).run(t.Context())
		if wire != nil {
			t.Fatalf("the pass ended with an error: %v", wire)
		}
		return out
	}

	w := s.want(configMap("a", "1"))
	if out := push(w, nil, errors.New("the host does not answer")); out.Reason != v1alpha1.ReasonPushError || out.Retry == 0 {
		t.Errorf("%s %s", out.Reason, out.Message)
	}
	if out := push(w, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, s.namespace)); out.Reason != v1alpha1.ReasonNamespaceTerminating {
		t.Errorf("%s %s", out.Reason, out.Message)
	}
	if s.get("v1", "Namespace", s.namespace) != nil {
		t.Fatal("the namespace was created without the labels of the host")
	}
	push(w, map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "v1.30",
		"team": "x", v1alpha1.LabelOpen: "true", "kubernetes.io/metadata.name": s.namespace,
	}, nil)
	want := map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "v1.30",
		v1alpha1.LabelMade: "true", "kubernetes.io/metadata.name": s.namespace,
	}
	if diff := cmp.Diff(want, s.labels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	// From here on the namespace exists. The manager must neither read the host's labels again nor change the member's.
	asked = 0
	push(s.want(configMap("a", "2")), map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}, nil)
	if asked != 0 || s.labels()["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("read %d times, labels %v", asked, s.labels())
	}
	if slices.Contains(s.wire.writes(), "PATCH v1/namespaces") {
		t.Error("the namespace was written again")
	}
}
