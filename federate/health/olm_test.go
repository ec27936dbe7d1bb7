// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Subscriptions with the status that OLM writes: at version v1, and between v1 and v2.
const (
	atLatest  = "{state: AtLatestKnown, installedCSV: op.v1, currentCSV: op.v1, installPlanRef: {name: install-1}}"
	upgrading = "{state: UpgradePending, installedCSV: op.v1, currentCSV: op.v2, installPlanRef: {name: install-2}}"
)

func subscription(status string) string {
	return `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: op, namespace: shop, generation: 1}
spec: {name: op, source: catalog, sourceNamespace: olm}
status: ` + status
}

func csv(name, status string) string {
	return `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: ` + name + `, namespace: shop}
status: ` + status
}

// since returns the end of a condition in YAML. The status of the condition changed the time d before now.
func since(d time.Duration) string { return ", lastTransitionTime: '" + ago(d) + "'}" }

func plan(name, spec, status string) string {
	return `
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: ` + name + `, namespace: shop}
spec: ` + spec + `
status: ` + status
}

// prevented returns the status of a Subscription whose resolution an error has prevented for a minute.
func prevented(message string) string {
	return `{conditions: [{type: ResolutionFailed, status: "True", reason: ErrorPreventedResolution, message: "` + message + `", lastTransitionTime: "` +
		ago(time.Minute) + `"}, {type: CatalogSourcesUnhealthy, status: "False", reason: AllCatalogSourcesHealthy}]}`
}

func TestSubscription(t *testing.T) {
	tests := map[string]struct {
		sub, csv, plan string
		groups         int
		want           health.Verdict
	}{
		"is healthy when its CSV succeeded": {
			sub: atLatest, csv: csv("op.v1", "{phase: Succeeded, reason: InstallSucceeded}"), groups: 1,
			want: health.Verdict{Health: v1alpha1.Healthy, Version: "op.v1"},
		},
		"is not healthy by being AtLatestKnown while the CSV installs": { // OLM 1
			sub:    atLatest,
			csv:    csv("op.v1", "{phase: Installing, reason: InstallWaiting, message: waiting for the deployment"+since(time.Minute)),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: "InstallWaiting",
				Message: "op.v1 is Installing: waiting for the deployment", Recheck: 9 * time.Minute,
			},
		},
		"is not degraded by a CSV that failed a moment ago": { // OLM 2
			sub:    atLatest,
			csv:    csv("op.v1", "{phase: Failed, reason: RequirementsNotMet, message: crd missing"+since(2*time.Second)),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: "RequirementsNotMet",
				Message: "op.v1 is Failed: crd missing", Recheck: 3 * time.Second,
			},
		},
		"is degraded by a CSV that stays failed": {
			sub:    atLatest,
			csv:    csv("op.v1", "{phase: Failed, reason: InstallCheckFailed, message: install timeout"+since(5*time.Second)),
			groups: 1,
			want:   health.Verdict{Health: v1alpha1.Degraded, Reason: "InstallCheckFailed", Message: "op.v1 is Failed: install timeout"},
		},
		"is degraded by a CSV that hangs without failing": { // OLM 3
			sub:    atLatest,
			csv:    csv("op.v1", "{phase: Installing, reason: InstallWaiting, message: waiting"+since(10*time.Minute)),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "InstallWaiting", Message: "op.v1 is Installing: waiting (for more than 10m0s)",
			},
		},
		"is progressing while the next CSV's requirements are not met, and degraded after a deadline": { // OLM 4
			sub:    upgrading,
			csv:    csv("op.v2", "{phase: Pending, reason: RequirementsNotMet, message: needs Kubernetes 2.0"+since(time.Minute)),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: "RequirementsNotMet",
				Message: "op.v2 is Pending: needs Kubernetes 2.0", Recheck: 9 * time.Minute,
			},
		},
		"a CSV waits for what its plan could not create": {
			sub:    upgrading,
			csv:    csv("op.v2", "{phase: Pending, reason: RequirementsNotMet, message: needs a ServiceAccount"+since(time.Minute)),
			groups: 1,
			plan: plan("install-2", "{approved: true, clusterServiceVersionNames: [op.v2]}",
				"{phase: Failed, conditions: [{type: Installed, status: 'False', reason: InstallComponentFailed, message: no port"+since(time.Minute)+"]}"),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "InstallPlanFailed", Message: "InstallPlan install-2 failed: InstallComponentFailed: no port",
			},
		},
		"a CSV waits, and another plan has failed": {
			sub:    upgrading,
			csv:    csv("op.v2", "{phase: Pending, reason: RequirementsNotMet, message: needs Kubernetes 2.0"+since(time.Minute)),
			groups: 1,
			plan:   plan("install-1", "{approved: true, clusterServiceVersionNames: [op.v1]}", "{phase: Failed}"),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: "RequirementsNotMet",
				Message: "op.v2 is Pending: needs Kubernetes 2.0", Recheck: 9 * time.Minute,
			},
		},
		"names the CSV that hangs, not the resolution that fails because of it": { // OLM 5
			sub: `{state: UpgradePending, installedCSV: op.v1, currentCSV: op.v2, conditions: [` +
				`{type: ResolutionFailed, status: "True", reason: ConstraintsNotSatisfiable, lastTransitionTime: "` + ago(time.Minute) + `"}]}`,
			csv:    csv("op.v2", "{phase: Pending, reason: RequirementsNotMet, message: needs more"+since(time.Hour)),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "RequirementsNotMet", Message: "op.v2 is Pending: needs more (for more than 10m0s)",
			},
		},
		"is degraded without an OperatorGroup, although OLM does not report that": { // OLM 6
			sub: "{}",
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonNoOperatorGroup,
				Message: "its namespace has no OperatorGroup, without which OLM does nothing; federate one with the Subscription",
			},
		},
		"is degraded with two OperatorGroups, although OLM does not report that before there is a CSV": {
			sub:    "{}",
			groups: 2,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonTooManyOperatorGroups,
				Message: "its namespace has more than one OperatorGroup, so OLM installs nothing there; delete all but one on the member",
			},
		},
		"names the requirement that is not met": {
			sub: upgrading,
			csv: csv("op.v2", `{phase: Pending, reason: RequirementsNotMet, message: one or more requirements couldn't be found, requirementStatus: [`+
				`{kind: CustomResourceDefinition, name: as.example.com, status: Present}, {kind: ClusterServiceVersion, name: op.v2, status: NotPresent, message: too new}]`+since(time.Minute)),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: "RequirementsNotMet",
				Message: "op.v2 is Pending: one or more requirements couldn't be found (ClusterServiceVersion op.v2 is NotPresent: too new)", Recheck: 9 * time.Minute,
			},
		},
		"has OLM's message that OperatorGroups overlap": { // OLM 6
			sub:    atLatest,
			csv:    csv("op.v1", "{phase: Failed, reason: InterOperatorGroupOwnerConflict, message: taken"+since(time.Minute)),
			groups: 1,
			want:   health.Verdict{Health: v1alpha1.Degraded, Reason: "InterOperatorGroupOwnerConflict", Message: "op.v1 is Failed: taken"},
		},
		"has OLM's message that a package is unknown": { // OLM 7
			sub: `{conditions: [{type: ResolutionFailed, status: "True", reason: ConstraintsNotSatisfiable,` +
				` message: no operators found in package op, lastTransitionTime: "` + ago(time.Minute) + `"}]}`,
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "ResolutionFailed",
				Message: "ConstraintsNotSatisfiable: no operators found in package op",
			},
		},
		"names the unhealthy catalog before the resolution that fails because of it": { // OLM 7
			sub: `{conditions: [{type: ResolutionFailed, status: "True", message: no catalog, lastTransitionTime: "` + ago(time.Minute) + `"},` +
				`{type: CatalogSourcesUnhealthy, status: "True", reason: UnhealthyCatalogSourceFound, message: olm/catalog missing,` +
				` lastTransitionTime: "` + ago(time.Minute) + `"}]}`,
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "CatalogSourcesUnhealthy",
				Message: "UnhealthyCatalogSourceFound: olm/catalog missing",
			},
		},
		"names the catalog that OLM cannot read": { // OLM 7
			sub:    prevented("error using catalogsource olm/gone: failed to list bundles: rpc error: code = Unavailable desc = connection refused"),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "CatalogSourcesUnhealthy",
				Message: "ErrorPreventedResolution: error using catalogsource olm/gone: failed to list bundles: rpc error: code = Unavailable desc = connection refused",
			},
		},
		"names one of two sources that OLM cannot read": {
			sub:    prevented("[error using catalogsource shop/@existing: no, error using catalogsource olm/gone: no]"),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "CatalogSourcesUnhealthy",
				Message: "ErrorPreventedResolution: [error using catalogsource shop/@existing: no, error using catalogsource olm/gone: no]",
			},
		},
		"names the catalog that an earlier OLM cannot read": {
			sub:    prevented("failed to populate resolver cache from source gone/olm: failed to list bundles: connection refused"),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "CatalogSourcesUnhealthy",
				Message: "ErrorPreventedResolution: failed to populate resolver cache from source gone/olm: failed to list bundles: connection refused",
			},
		},
		"blames no catalog if OLM cannot read the CSVs of the namespace": {
			sub:    prevented("error using catalogsource shop/@existing: csv op.v1 in phase Failed"),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "ResolutionFailed",
				Message: "ErrorPreventedResolution: error using catalogsource shop/@existing: csv op.v1 in phase Failed",
			},
		},
		"blames no catalog if an earlier OLM cannot read the CSVs of the namespace": {
			sub:    prevented("failed to populate resolver cache from source @existing/shop: csv op.v1 in phase Failed"),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "ResolutionFailed",
				Message: "ErrorPreventedResolution: failed to populate resolver cache from source @existing/shop: csv op.v1 in phase Failed",
			},
		},
		"blames no catalog if another error prevents the resolution": {
			sub:    prevented("multiple name matches for status.installedCSV of subscription shop/op"),
			groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: "ResolutionFailed",
				Message: "ErrorPreventedResolution: multiple name matches for status.installedCSV of subscription shop/op",
			},
		},
		"has OLM's message that a bundle cannot be unpacked": {
			sub: `{conditions: [{type: BundleUnpackFailed, status: "True", reason: DeadlineExceeded, message: job timed out, lastTransitionTime: "` +
				ago(time.Minute) + `"}]}`,
			groups: 1,
			want:   health.Verdict{Health: v1alpha1.Degraded, Reason: "BundleUnpackFailed", Message: "DeadlineExceeded: job timed out"},
		},
		"is not degraded by a resolution that failed a moment ago": {
			sub:    `{conditions: [{type: ResolutionFailed, status: "True", message: no catalog, lastTransitionTime: "` + ago(time.Second) + `"}]}`,
			groups: 1,
			want:   health.Verdict{Health: v1alpha1.Progressing, Reason: "ResolutionFailed", Message: "no catalog", Recheck: 4 * time.Second},
		},
		"ignores a condition with status False": {
			sub:    `{conditions: [{type: CatalogSourcesUnhealthy, status: "False", reason: AllCatalogSourcesHealthy}]}`,
			groups: 1,
			want:   health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Message: "OLM has not chosen a CSV yet"},
		},
		"waits for a person if the InstallPlan of an upgrade is Manual": {
			sub: upgrading, plan: plan("install-2", "{approval: Manual, approved: false}", "{phase: RequiresApproval}"), groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Waiting, Reason: v1alpha1.ReasonApprovalRequired,
				Message: "InstallPlan install-2 for op.v2 waits for approval",
			},
		},
		"waits for a person if the first InstallPlan is Manual": {
			sub:  "{state: UpgradePending, currentCSV: op.v1, installPlanRef: {name: install-1}}",
			plan: plan("install-1", "{approval: Manual}", "{phase: RequiresApproval}"), groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Waiting, Reason: v1alpha1.ReasonApprovalRequired,
				Message: "InstallPlan install-1 for op.v1 waits for approval",
			},
		},
		"does not wait for a person once the plan is approved": {
			sub: upgrading, plan: plan("install-2", "{approval: Manual, approved: true}", "{phase: Installing}"), groups: 1,
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Message: "InstallPlan install-2 is Installing"},
		},
		"is not degraded by the failure of an earlier InstallPlan": {
			sub: `{state: UpgradePending, installedCSV: op.v1, currentCSV: op.v2, installPlanRef: {name: install-2}, conditions: [` +
				`{type: InstallPlanFailed, status: "True", reason: InstallComponentFailed, message: no such kind, lastTransitionTime: "` + ago(time.Minute) + `"}]}`,
			plan: plan("install-2", "{approval: Automatic, approved: true}", "{phase: Installing}"), groups: 1,
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Message: "InstallPlan install-2 is Installing"},
		},
		"is degraded if a person deleted the CSV": {
			sub: atLatest, groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonCSVMissing,
				Message: "OLM records op.v1 as installed, but that CSV is gone and OLM does not create it again; " +
					"delete the Subscription, and the manager pushes it again",
			},
		},
		"is progressing until OLM has recorded the installed CSV": {
			sub: upgrading, csv: csv("op.v2", "{phase: Succeeded}"), groups: 1,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Message: "op.v2 is installed; OLM has not recorded that yet",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			related := health.Related{OperatorGroups: test.groups}
			for text, into := range map[string]**unstructured.Unstructured{test.csv: &related.CSV, test.plan: &related.InstallPlan} {
				if text != "" {
					*into = object(t, text)
				}
			}
			got := health.Judge(object(t, subscription(test.sub)), related, now)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCatalogSource(t *testing.T) {
	tests := map[string]struct {
		status string
		want   health.Verdict
	}{
		"is healthy when OLM is connected": {
			status: "{connectionState: {lastObservedState: READY}}",
			want:   health.Verdict{Health: v1alpha1.Healthy},
		},
		"is progressing before OLM has tried to connect": {
			status: "{}",
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonSettling, Message: "OLM has not connected to the catalog yet",
			},
		},
		"is progressing while OLM connects": {
			status: "{connectionState: {lastObservedState: CONNECTING, address: 'a:1'}}",
			want:   health.Verdict{Health: v1alpha1.Progressing, Reason: "CONNECTING", Message: "OLM is connecting to the catalog at a:1"},
		},
		"is degraded when OLM cannot connect": {
			status: "{connectionState: {lastObservedState: TRANSIENT_FAILURE, address: 'a:1'}}",
			want:   health.Verdict{Health: v1alpha1.Degraded, Reason: "TRANSIENT_FAILURE", Message: "OLM cannot connect to the catalog at a:1"},
		},
		"has OLM's message about a wrong spec": {
			status: "{reason: SpecInvalidError, message: image and address are empty}",
			want:   health.Verdict{Health: v1alpha1.Degraded, Reason: "SpecInvalidError", Message: "image and address are empty"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(object(t, `
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: catalog, namespace: olm}
status: `+test.status), health.Related{}, now)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
