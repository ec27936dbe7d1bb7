// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// extension is a ClusterExtension of generation 2 that asks for versions, with this status.
func extension(versions, status string) string {
	return fmt.Sprintf(`
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: argo, generation: 2}
spec: {namespace: argo, source: {sourceType: Catalog, catalog: {packageName: argo, version: %q}}}
status: %s`, versions, status)
}

// reported is a status as OLM v1 writes it: the installed version, "" for none, and conditions.
func reported(version string, conditions ...string) string {
	install := ""
	if version != "" {
		install = fmt.Sprintf("install: {bundle: {name: argo.v%s, version: %q}}, ", version, version)
	}
	return "{" + install + "conditions: [" + strings.Join(conditions, ", ") + "]}"
}

// condition is a condition of the present generation.
func condition(kind, status, reason, message string) string {
	return fmt.Sprintf("{type: %s, status: %q, reason: %s, message: %q, observedGeneration: 2}", kind, status, reason, message)
}

// began returns the condition with a lastTransitionTime d before now.
func began(d time.Duration, condition string) string {
	return strings.TrimSuffix(condition, "}") + ", lastTransitionTime: '" + ago(d) + "'}"
}

// The conditions of a ClusterExtension whose bundle is installed, and of one without a bundle.
var (
	installed = condition("Installed", "True", "Succeeded", "Installed bundle")
	absent    = condition("Installed", "False", "Failed", "No bundle installed")
	reached   = condition("Progressing", "True", "Succeeded", "Desired state reached")
)

func TestClusterExtension(t *testing.T) {
	const blocked = "bundle argo.v1.1.0 needs Kubernetes 2.0"
	retrying := condition("Progressing", "True", "Retrying", "no bundles found")
	tests := map[string]struct {
		versions, status string
		want             health.Verdict
	}{
		"is healthy when the pinned version is installed": {
			versions: "1.0.0", status: reported("1.0.0", installed, reached),
			want: health.Verdict{Health: v1alpha1.Healthy, Version: "1.0.0"},
		},
		"is healthy when any version is installed and the spec names none": {
			status: reported("1.0.0", installed, reached),
			want:   health.Verdict{Health: v1alpha1.Healthy, Version: "1.0.0"},
		},
		"tells that its package is deprecated, and is healthy": {
			versions: "1.0.0", status: reported("1.0.0", installed, reached, condition("Deprecated", "True", "Deprecated", "use argo2")),
			want: health.Verdict{Health: v1alpha1.Healthy, Reason: v1alpha1.ReasonDeprecated, Message: "use argo2", Version: "1.0.0"},
		},
		"is not deprecated by a condition that is False, or not known": {
			versions: "1.0.0", status: reported("1.0.0", installed, reached, condition("Deprecated", "False", "Deprecated", ""), condition("BundleDeprecated", "Unknown", "Absent", "")),
			want: health.Verdict{Health: v1alpha1.Healthy, Version: "1.0.0"},
		},
		"has the name of the bundle for a version where OLM reports no version": {
			status: "{install: {bundle: {name: argo-stable}}, conditions: [" + installed + ", " + reached + "]}",
			want:   health.Verdict{Health: v1alpha1.Healthy, Version: "argo-stable"},
		},
		"is not healthy by the conditions while the earlier version is the installed one": {
			versions: "1.1.0", status: reported("1.0.0", began(time.Minute, installed), began(time.Minute, reached)),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Version: "1.0.0",
				Message: "1.0.0 is installed; OLM has not installed a version that satisfies 1.1.0 yet", Recheck: 9 * time.Minute,
			},
		},
		"is degraded when OLM claims success with the earlier version for too long": {
			versions: "1.1.0", status: reported("1.0.0", installed, reached),
			want: health.Verdict{
				Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonInstalling, Version: "1.0.0",
				Message: "1.0.0 is installed; OLM has not installed a version that satisfies 1.1.0 yet (for more than 10m0s)",
			},
		},
		"is not healthy by the conditions when OLM reports no installed bundle": {
			versions: "1.1.0", status: reported("", began(time.Minute, installed), reached),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling,
				Message: "OLM reports no installed version; the spec asks for 1.1.0", Recheck: 9 * time.Minute,
			},
		},
		"is not healthy before a bundle is installed": {
			versions: "1.0.0", status: reported("", began(time.Minute, absent), reached),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling,
				Message: "OLM has not installed a bundle yet: No bundle installed", Recheck: 9 * time.Minute,
			},
		},
		"is not healthy by an Installed of an earlier generation": {
			versions: "1.0.0", status: reported("1.0.0", strings.Replace(began(time.Minute, installed), "observedGeneration: 2", "observedGeneration: 1", 1), reached),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Version: "1.0.0",
				Message: "OLM has not installed a bundle yet: Installed bundle", Recheck: 9 * time.Minute,
			},
		},
		"is not healthy in the first ten seconds": {
			versions: "1.0.0", status: reported("1.0.0", began(3*time.Second, installed), reached),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstalling, Version: "1.0.0",
				Message: "OLM has succeeded; that counts after 10s", Recheck: 7 * time.Second,
			},
		},
		"is not judged by what was said of an earlier spec": {
			versions: "1.0.0", status: strings.ReplaceAll(reported("1.0.0", installed, reached), "observedGeneration: 2", "observedGeneration: 1"),
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonSettling, Message: "OLM has not observed the present spec yet", Version: "1.0.0",
			},
		},
		"is on its way when no controller has set a status, however long ago it was applied": {
			versions: "1.0.0", status: "{}",
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonStatusMissing,
				Message: "no controller has set a status yet; operator-controller, which is OLM v1, has to run on this member",
			},
		},
		"is on its way while OLM rolls out": {
			versions: "1.1.0", status: reported("1.0.0", installed, began(time.Minute, condition("Progressing", "True", "RollingOut", "2 of 3"))),
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: "RollingOut", Message: "2 of 3", Version: "1.0.0", Recheck: 9 * time.Minute},
		},
		"is degraded when a roll out hangs": {
			versions: "1.1.0", status: reported("1.0.0", installed, condition("Progressing", "True", "RollingOut", "2 of 3")),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "RollingOut", Message: "2 of 3 (for more than 10m0s)", Version: "1.0.0"},
		},
		"is degraded when OLM keeps retrying": {
			versions: "1.1.0", status: reported("1.0.0", installed, retrying),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "Retrying", Message: "no bundles found", Version: "1.0.0"},
		},
		"is degraded when OLM keeps retrying, although the installed version is in the range": {
			versions: ">=1.0.0", status: reported("1.0.0", installed, retrying),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "Retrying", Message: "no bundles found", Version: "1.0.0"},
		},
		"gives a first retry time": {
			versions: "1.1.0", status: reported("", absent, began(time.Second, retrying)),
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: "Retrying", Message: "no bundles found", Recheck: 4 * time.Second},
		},
		"is degraded when OLM says that it is blocked, whatever it says of an earlier bundle": {
			versions: "1.1.0", status: reported("1.0.0", strings.Replace(installed, "observedGeneration: 2", "observedGeneration: 1", 1),
				condition("Progressing", "False", "Blocked", blocked)),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonBlocked, Message: blocked, Version: "1.0.0"},
		},
		"gives OLM a moment before it counts as blocked": {
			versions: "1.1.0", status: reported("1.0.0", installed, began(2*time.Second, condition("Progressing", "False", "Blocked", blocked))),
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonBlocked, Message: blocked, Version: "1.0.0", Recheck: 3 * time.Second},
		},
		"is blocked for every reason for which OLM does not try again": {
			versions: "1.1.0", status: reported("1.0.0", installed, condition("Progressing", "False", "InvalidConfiguration", "unknown field watch")),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonBlocked, Message: "InvalidConfiguration: unknown field watch", Version: "1.0.0"},
		},
		"is blocked where OLM says so without a message": {
			versions: "1.1.0", status: reported("", condition("Progressing", "False", "Blocked", "")),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonBlocked, Message: "condition Progressing is False without a message"},
		},
		"is degraded when what is installed does not pass OLM's probes": {
			versions: "1.0.0", status: reported("1.0.0", installed, reached, condition("Available", "False", "ProbeFailure", "Deployment argo is not available")),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "ProbeFailure", Message: "Deployment argo is not available", Version: "1.0.0"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(object(t, extension(test.versions, test.status)), health.Related{}, now)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The table has the forms of versions that the API of ClusterExtension documents. The test fails if a library with
// other rules for ranges replaces the library of OLM.
func TestClusterExtensionIsHealthyWithAVersionThatItsSpecAsksFor(t *testing.T) {
	tests := map[string]struct {
		versions, installed string
		healthy             bool
	}{
		"the pin":                                    {"1.2.3", "1.2.3", true},
		"the pin, with build metadata":               {"1.2.3", "1.2.3+2", true},
		"a pin of a prerelease":                      {"1.2.3-rc.1", "1.2.3-rc.1", true},
		"a version before the pin":                   {"1.2.3", "1.2.2", false},
		"a version after the pin":                    {"1.2.3", "1.2.4", false},
		"in a range with a comma":                    {">=1.0.0, <2.0.0", "1.9.0", true},
		"past a range with a comma":                  {">=1.0.0, <2.0.0", "2.0.0", false},
		"in a range with a space":                    {">=1.0.0 <2.0.0", "1.9.0", true},
		"in the second of two ranges":                {"^0 || ^3", "3.4.0", true},
		"between two ranges":                         {"^0 || ^3", "2.0.0", false},
		"in a wildcard":                              {"1.2.x", "1.2.9", true},
		"past a wildcard":                            {"1.2.x", "1.3.0", false},
		"in a tilde range":                           {"~1.2.3", "1.2.9", true},
		"a prerelease in a range without one":        {">=1.0.0", "2.0.0-rc.1", false},
		"a range that cannot be parsed":              {"newest", "1.0.0", true},
		"a range that cannot be parsed, and nothing": {"newest", "", true},
		"an installed version that cannot be parsed": {"1.2.3", "stable", true},
		"no installed version":                       {"1.2.3", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(object(t, extension(test.versions, reported(test.installed, installed, reached))), health.Related{}, now)
			if (got.Health == v1alpha1.Healthy) != test.healthy {
				t.Errorf("it is %+v", got)
			}
		})
	}
}

// OLM keeps both conditions True through an upgrade, so their lastTransitionTime is old.
func TestTheDebounceOfAClusterExtensionBeginsWithItsLastChange(t *testing.T) {
	fields := func(manager, subresource string, d time.Duration) string {
		return fmt.Sprintf("{manager: %s, operation: Update, subresource: %q, apiVersion: olm.operatorframework.io/v1, time: '%s'}", manager, subresource, ago(d))
	}
	tests := map[string]struct {
		managedFields string
		recheck       time.Duration // zero means Healthy
	}{
		"a change of the status":            {fields("operator-controller", "status", 4*time.Second), 6 * time.Second},
		"an apply by the manager":           {fields(v1alpha1.FieldManager, "", 4*time.Second), 6 * time.Second},
		"the later of the two":              {fields(v1alpha1.FieldManager, "", 9*time.Second) + ", " + fields("operator-controller", "status", time.Second), 9 * time.Second},
		"no write to metadata by OLM":       {fields("operator-controller", "", 4*time.Second), 0},
		"a change of the status long ago":   {fields("operator-controller", "status", 10*time.Second), 0},
		"a change that seems to come later": {fields("operator-controller", "status", -time.Hour), 10 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(extension("1.0.0", reported("1.0.0", began(time.Hour, installed), began(time.Hour, reached))),
				"generation: 2}\nspec", "generation: 2, managedFields: ["+test.managedFields+"]}\nspec", 1)
			got := health.Judge(object(t, text), health.Related{}, now)
			if (got.Health == v1alpha1.Healthy) != (test.recheck == 0) || got.Recheck != test.recheck {
				t.Errorf("it is %+v", got)
			}
		})
	}
}
