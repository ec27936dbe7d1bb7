// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestValidateUpgrade(t *testing.T) {
	const (
		manual      = "{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: db}, spec: {installPlanApproval: Manual}}"
		group       = "{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: db}}"
		toTarget    = "upgrade: {subscriptions: [{name: db, targetCSV: db.v1.2.0}]}\n"
		reinstalled = "upgrade: {subscriptions: [{name: db, targetCSV: db.v1.2.0}], rollback: Reinstall}\n"
		wayOut      = "spec.upgrade names this Subscription: write installPlanApproval: Manual"
	)
	for name, tc := range map[string]struct {
		objects, upgrade string
		want             []string
	}{
		"a Manual Subscription": {manual, toTarget, nil},
		"two of them": {manual + ", {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: b}, spec: {installPlanApproval: Manual}}",
			"upgrade: {subscriptions: [{name: db, targetCSV: db.v1.2.0}, {name: b, targetCSV: b.v1.0.0}], sharedNamespace: Allow}\n", nil},
		"an Automatic one that upgrade does not name": {manual + ", {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: b}, spec: {installPlanApproval: Automatic}}", toTarget, nil},
		"no upgrade, Automatic and Rollback":          {"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: db}, spec: {}}", "rollout: {onFailure: Rollback}\n", nil},
		"onFailure: Pause":                            {manual, toTarget + "rollout: {onFailure: Pause}\n", nil},
		"Automatic": {group + ", {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: db}, spec: {installPlanApproval: Automatic}}", toTarget,
			[]string{`spec.objects[1].spec.installPlanApproval: Invalid value: "Automatic": ` + wayOut}},
		"no installPlanApproval": {"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: db}, spec: {name: db}}", toTarget,
			[]string{"spec.objects[0].spec.installPlanApproval: Required value: " + wayOut}},
		"an approval that is a list": {"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: db}, spec: {installPlanApproval: [a]}}", toTarget,
			[]string{"spec.objects[0].spec.installPlanApproval: Invalid value"}},
		"no spec": {"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: db}}", toTarget, []string{"spec.objects[0].spec: Required value"}},
		"a name that no Subscription has": {manual, "upgrade: {subscriptions: [{name: cache, targetCSV: cache.v1.2.0}]}\n",
			[]string{`spec.upgrade.subscriptions[0].name: Invalid value: "cache": give the metadata.name of a Subscription in spec.objects; the wrapper has db`}},
		"the name of another kind":              {manual + ", {apiVersion: v1, kind: ConfigMap, metadata: {name: cache}}", "upgrade: {subscriptions: [{name: cache, targetCSV: c.v1.0.0}]}\n", []string{"spec.upgrade.subscriptions[0].name: Invalid value"}},
		"no Subscription":                       {group, toTarget, []string{"spec.upgrade: Forbidden: the wrapper has no Subscription (operators.coreos.com)"}},
		"a Subscription of another group":       {"{apiVersion: messaging.knative.dev/v1, kind: Subscription, metadata: {name: db}}", toTarget, []string{"spec.upgrade: Forbidden: the wrapper has no Subscription"}},
		"onFailure: Rollback":                   {manual, toTarget + "rollout: {onFailure: Rollback}\n", []string{"spec.rollout.onFailure: Forbidden: OLM cannot downgrade an operator, so a wrapper with upgrade cannot roll back: write onFailure: Pause, or upgrade.rollback: Reinstall"}},
		"rollback: Reinstall":                   {manual, reinstalled + "drift: Repair\n", nil},
		"rollback: Reinstall without a target":  {manual, "upgrade: {rollback: Reinstall}\n", nil},
		"onFailure: Rollback beside Reinstall":  {manual, reinstalled + "rollout: {onFailure: Rollback}\n", nil},
		"onFailure: Rollback beside Never":      {manual, "upgrade: {subscriptions: [{name: db, targetCSV: db.v1.2.0}], rollback: Never}\nrollout: {onFailure: Rollback}\n", []string{"spec.rollout.onFailure: Forbidden: OLM cannot downgrade an operator"}},
		"Reinstall beside drift: Report":        {manual, reinstalled + "drift: Report\n", []string{"spec.drift: Forbidden: a reinstall deletes the Subscription and creates it again, and with drift: Report the manager creates nothing again: write drift: Repair, or upgrade.rollback: Never"}},
		"Reinstall beside approve: Latest":      {manual, "upgrade: {subscriptions: [{name: db, approve: Latest}], rollback: Reinstall}\n", []string{"spec.upgrade.subscriptions[0].approve: Forbidden: with approve: Latest the manager never goes back to an earlier version, so rollback: Reinstall has no effect: give targetCSV, or write rollback: Never"}},
		"Reinstall without a Subscription":      {group, "upgrade: {rollback: Reinstall}\n", []string{"spec.upgrade: Forbidden: the wrapper has no Subscription (operators.coreos.com)"}},
		"an object that cannot be read as well": {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, n: 18446744073709551617}", toTarget, []string{"spec.objects[0]: Invalid value"}},
	} {
		t.Run(name, func(t *testing.T) {
			expectErrors(t, tc.want, spec(t, placed+tc.upgrade+"objects: ["+tc.objects+"]"), "shop", v1alpha1.KindFederated)
		})
	}
}
