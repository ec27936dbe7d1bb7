// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// A member can report text that the host's API server refuses in a status. If the manager did not clean the text, it could not
// write the status, and the old status would stay for ever, perhaps with Ready=True.
func TestBadTextOfAMemberDoesNotBlockItsStatus(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	east := f.proxies["east"]
	var lies misbehavior = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		isVersion, isMembership := r.URL.Path == "/version", strings.HasSuffix(r.URL.Path, "/memberships/self")
		if r.Method != http.MethodGet || !isVersion && !isMembership {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		fields := map[string]any{}
		if err := json.Unmarshal(answer.Body.Bytes(), &fields); err != nil {
			panic(http.ErrAbortHandler)
		}
		if spec, ok := fields["spec"].(map[string]any); ok {
			spec["grants"] = []string{"any", "any", "", "\x1b[31m" + strings.Repeat("x", 500)}
		}
		if isVersion {
			fields["gitVersion"] = "v1.36.3\x1b]0;owned\x07" + strings.Repeat("x", 200)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(fields) // after an error the client gets a broken response, and the test fails
	}
	east.misbehavior.Store(&lies)
	defer east.misbehavior.Store(nil)
	defer born(t, manager, f.manager, end{}).kill()
	f.eventually(t, "the status is written", func(ctx context.Context) string {
		mc := &v1alpha1.MemberCluster{}
		if err := f.host.Get(ctx, client.ObjectKey{Name: "east"}, mc); err != nil {
			return err.Error()
		}
		v := mc.Status.KubernetesVersion
		if !strings.HasPrefix(v, "v1.36.3]0;owned") || strings.ContainsAny(v, "\x1b\x07") || len(mc.Status.Grants) != 2 || !slices.Contains(mc.Status.Grants, "any") {
			return fmt.Sprintf("%q %q", v, mc.Status.Grants)
		}
		return ""
	})
}
