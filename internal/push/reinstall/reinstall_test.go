// SPDX-License-Identifier: Apache-2.0

package reinstall

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

const (
	noSubscriptions = `{"kind":"SubscriptionList","items":[]}`
	noCSVs          = `{"kind":"ClusterServiceVersionList","items":[]}`
	openRecord      = `{"db":{"csvs":[{"name":"db.v1.3.0","uid":"c"}],"subscription":{"name":"db","uid":"s"},"at":"2026-11-26T12:00:00Z"}}`
)

// answers is a member that answers a request by the last part of its path, and by where the page before ended.
type answers map[string]string

// attempt makes an attempt for a wrapper with these Subscriptions, each of the package of its name; without names it has db.
func (a answers) attempt(t *testing.T, names ...string) (Result, []string, error) {
	t.Helper()
	var writes []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet {
			writes = append(writes, req.Method+" "+req.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, a[req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]+req.URL.Query().Get("continue")]) // if it cannot be sent, the client fails
	}))
	t.Cleanup(server.Close)
	conn, err := member.Connect("east", &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}})
	if err != nil {
		t.Fatal(err)
	}
	at := Attempt{Conn: conn, Desired: &plan.Desired{Reinstalls: true, MayReinstall: true, Wrapper: v1alpha1.WrapperIdentity{Kind: "Federated", Namespace: "shop", Name: "db", UID: "u", Generation: 4}},
		Delivery: "d", DeliveryUID: "d-1", Subscriptions: map[string]Subscription{"db": {Target: "db.v1.2.0", Spec: &operators.SubscriptionSpec{Package: "db"}}}, IsApplied: true, IsCollected: true,
		IsHealthy: func(string) bool { return false }, IsDesired: func() bool { return true }, Now: time.Date(2026, 11, 26, 12, 1, 0, 0, time.UTC)}
	for _, name := range names {
		at.Subscriptions[name] = Subscription{Target: name + ".v1.2.0", Spec: &operators.SubscriptionSpec{Package: name}}
	}
	is, err := at.Run(t.Context())
	return is, writes, err
}

// delivery returns a Delivery with this record, of this generation of the wrapper.
func delivery(record, generation string) string {
	return `{"kind":"Delivery","apiVersion":"federation.fairlead.dev/v1alpha1","metadata":{"name":"d","uid":"d-1","resourceVersion":"7","annotations":{"federation.fairlead.dev/reinstalls":` +
		"\"" + strings.ReplaceAll(record, `"`, `\"`) + "\"" + `}},"spec":{"wrapper":{"kind":"Federated","namespace":"shop","name":"db","uid":"u","generation":` + generation + `}}}`
}

func TestWhatCannotBeReadKeepsTheOperator(t *testing.T) {
	huge := `{"items":[` + strings.Repeat("{},", 20<<20) + `{}]}`
	endless := `{"kind":"ClusterServiceVersionList","metadata":{"continue":"more"},"items":[]}`
	for name, tc := range map[string]struct {
		member answers
		step   upgrade.Step
		want   string
	}{
		"too large a list of Subscriptions": {answers{"d": delivery("", "4"), "subscriptions": huge}, upgrade.Keep, "cannot read Subscriptions of namespace shop, because the answer is too large"},
		"too large a list of CSVs":          {answers{"d": delivery("", "4"), "subscriptions": noSubscriptions, "clusterserviceversions": huge}, upgrade.Keep, "cannot read ClusterServiceVersions of namespace shop"},
		"too many CSVs":                     {answers{"d": delivery("", "4"), "subscriptions": noSubscriptions, "clusterserviceversions": endless, "clusterserviceversionsmore": endless}, upgrade.Keep, "more than 1000 ClusterServiceVersions"},
		"too many CSVs during a reinstall":  {answers{"d": delivery(openRecord, "4"), "subscriptions": noSubscriptions, "clusterserviceversions": endless, "clusterserviceversionsmore": endless}, upgrade.AwaitRemoval, "reinstalling: the manager cannot go on with Subscription db: namespace shop has more than 1000"},
		"a record without an end":           {answers{"d": delivery("{", "4")}, upgrade.Keep, "it is not the expected JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			is, writes, err := tc.member.attempt(t)
			if err != nil || is.Step != tc.step || !strings.Contains(is.Message, tc.want) || len(writes) > 0 {
				t.Errorf("step %d: %s; writes %v, error %v", is.Step, is.Message, writes, err)
			}
		})
	}
}

// A host that was restored from a backup finishes nothing: its next pass is held, and would not create the Subscription again.
func TestAMemberAheadOfTheHostIsLeftAlone(t *testing.T) {
	const csvs = `{"kind":"ClusterServiceVersionList","items":[{"metadata":{"name":"db.v1.3.0","uid":"c"}}]}`
	const subs = `{"kind":"SubscriptionList","items":[{"metadata":{"name":"db","uid":"s"},"status":{"installedCSV":"db.v1.3.0"}}]}`
	for generation, writes := range map[string]int{"4": 1, "5": 0} {
		_, got, err := answers{"d": delivery(openRecord, generation), "subscriptions": subs, "clusterserviceversions": csvs}.attempt(t)
		if len(got) != writes {
			t.Errorf("generation %s: writes %v, error %v", generation, got, err)
		}
	}
}

// OLM copies the CSV of each global operator into every namespace, so that the manager's own one can be on a later page.
func TestAReinstallGoesOnWithACSVOfALaterPage(t *testing.T) {
	const (
		subs  = `{"kind":"SubscriptionList","items":[{"metadata":{"name":"db","uid":"s"},"status":{"installedCSV":"db.v1.3.0"}}]}`
		first = `{"kind":"ClusterServiceVersionList","metadata":{"continue":"-2"},"items":[{"metadata":{"name":"copy.v1.0.0","uid":"x"}}]}`
		last  = `{"kind":"ClusterServiceVersionList","items":[{"metadata":{"name":"db.v1.3.0","uid":"c"}}]}`
	)
	is, writes, err := answers{"d": delivery(openRecord, "4"), "subscriptions": subs, "clusterserviceversions": first, "clusterserviceversions-2": last}.attempt(t)
	if err != nil || is.Step != upgrade.Remove || len(writes) != 1 || !strings.HasSuffix(writes[0], "/clusterserviceversions/db.v1.3.0") {
		t.Errorf("step %d: %s; writes %v, error %v", is.Step, is.Message, writes, err)
	}
}

// A page that cannot be read must not look like the end of the list.
func TestAPageOfCSVsThatIsTooLargeKeepsTheOperator(t *testing.T) {
	const first = `{"kind":"ClusterServiceVersionList","metadata":{"continue":"-2"},"items":[]}`
	huge := `{"items":[` + strings.Repeat("{},", 20<<20) + `{}]}`
	is, writes, err := answers{"d": delivery("", "4"), "subscriptions": noSubscriptions, "clusterserviceversions": first, "clusterserviceversions-2": huge}.attempt(t)
	if err != nil || is.Step != upgrade.Keep || len(writes) > 0 || !strings.Contains(is.Message, "the answer is too large") {
		t.Errorf("step %d: %s; writes %v, error %v", is.Step, is.Message, writes, err)
	}
}

// Both operators of the wrapper are removed, and another client has created a Subscription of the first one's package.
func TestAnAttemptTellsWhichSubscriptionsMustNotBeCreated(t *testing.T) {
	const subs = `{"kind":"SubscriptionList","items":[{"metadata":{"name":"db2","uid":"s2"},"spec":{"name":"db"}}]}`
	both := strings.TrimSuffix(openRecord, "}") + `,"web":{"csvs":[{"name":"web.v1.3.0","uid":"c-2"}],"subscription":{"name":"web","uid":"s-3"},"at":"2026-11-26T12:00:00Z"}}`
	is, writes, err := answers{"d": delivery(both, "4"), "subscriptions": subs, "clusterserviceversions": noCSVs}.attempt(t, "db", "web")
	if err != nil || is.Step != upgrade.Create || is.Subscription != "web" || len(writes) > 0 {
		t.Fatalf("step %d for Subscription %s: %s; writes %v, error %v", is.Step, is.Subscription, is.Message, writes, err)
	}
	if !is.IsJudged || !slices.Equal(is.Forbidden, []string{"db"}) {
		t.Errorf("the Subscriptions are judged: %t, forbidden: %v", is.IsJudged, is.Forbidden)
	}
}
