// SPDX-License-Identifier: Apache-2.0

package installplan

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// The memory limit in spec.config takes longer to parse than a test may run. The CRD of a Subscription allows this value,
// so anyone who may write Subscriptions in a namespace could write it.
func TestAQuantityOfASubscriptionIsNotParsed(t *testing.T) {
	const list = `{"kind": "SubscriptionList", "apiVersion": "operators.coreos.com/v1alpha1", "metadata": {}, "items": [
		{"metadata": {"name": "db", "namespace": "shop", "labels": {"federation.fairlead.dev/uid": "u"}, "annotations": {"federation.fairlead.dev/target-csv": "db.v2"}},
		 "spec": {"name": "database", "installPlanApproval": "Manual", "config": {"resources": {"limits": {"memory": "1e-2000000000"}}}},
		 "status": {"currentCSV": "db.v2", "installPlanRef": {"name": "install-db"}}}]}`
	const plan = `{"kind": "InstallPlan", "apiVersion": "operators.coreos.com/v1alpha1", "metadata": {"name": "install-db", "uid": "p", "resourceVersion": "7"},
		"spec": {"approval": "Manual", "clusterServiceVersionNames": ["db.v2"]}, "status": {"phase": "RequiresApproval"}}`
	var asked []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.Method+" "+req.URL.Path)
		body := plan
		if strings.HasSuffix(req.URL.Path, "/subscriptions") {
			body = list
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body) // if it cannot be sent, the client fails
	}))
	t.Cleanup(server.Close)
	conn, err := member.Connect("east", &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}})
	if err != nil {
		t.Fatal(err)
	}
	trouble, err := Approve(t.Context(), conn, "u", Targets{"shop": {"db": "db.v2"}})
	if err != nil || trouble != nil {
		t.Errorf("%+v, %v", trouble, err)
	}
	if !slices.ContainsFunc(asked, func(r string) bool {
		return strings.HasPrefix(r, "PATCH ") && strings.HasSuffix(r, "/installplans/install-db")
	}) {
		t.Errorf("the plan was not approved: %q", asked)
	}
}
