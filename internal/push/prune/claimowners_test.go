// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// The memory limit and the storage request take longer to parse than a test may run.
func TestAQuantityOfAStatefulSetIsNotParsed(t *testing.T) {
	const answer = `{"kind": "StatefulSet", "apiVersion": "apps/v1", "metadata": {"name": "db", "generation": 3}, "spec": {
		"persistentVolumeClaimRetentionPolicy": {"whenDeleted": %q},
		"template": {"spec": {"containers": [{"name": "db", "resources": {"limits": {"memory": "1e-2000000000"}}}]}},
		"volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "1e-2000000000"}}}}]}, "status": {"observedGeneration": %s}}`
	for name, c := range map[string]struct {
		policy, observed             string
		retained, settled, isPatched bool
	}{
		"Delete is changed to Retain":        {policy: "Delete", observed: "3", retained: true, settled: true, isPatched: true},
		"the controller has not seen Retain": {policy: "Retain", observed: "2", retained: true, settled: true},
		"the controller has observed Retain": {policy: "Retain", observed: "3", retained: true},
	} {
		t.Run(name, func(t *testing.T) {
			patched := false
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				patched = patched || req.Method == http.MethodPatch
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, answer, c.policy, c.observed) // if it cannot be sent, the client fails
			}))
			t.Cleanup(server.Close)
			conn, err := member.Connect("east", &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
				CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}})
			if err != nil {
				t.Fatal(err)
			}
			found := &metav1.PartialObjectMetadata{}
			found.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: retainManager}}
			p := New(conn, &plan.Desired{}, nil, nil, &memberapi.Troubles{})
			retained, settled, err := p.claims.retain(t.Context(), &Removal{Entry: v1alpha1.InventoryEntry{Group: "apps", Kind: "StatefulSet", Name: "db"}},
				[]string{"/apis/apps/v1/namespaces/shop/statefulsets/db"}, found)
			if err != nil || retained != c.retained || settled != c.settled || patched != c.isPatched {
				t.Errorf("retained %v, settled %v, patched %v, %v", retained, settled, patched, err)
			}
		})
	}
}
