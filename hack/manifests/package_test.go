// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
)

func TestThePackagedChartHasTheVersionOfTheRelease(t *testing.T) {
	out := t.TempDir()
	if err := packageChart("../..", "v1.2.3-rc.1", out); err != nil {
		t.Fatal(err)
	}
	chart, err := loader.Load(filepath.Join(out, "fairlead-1.2.3-rc.1.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if m := chart.Metadata; m.Version != "1.2.3-rc.1" || m.AppVersion != "v1.2.3-rc.1" {
		t.Errorf("version %s, appVersion %s", m.Version, m.AppVersion)
	}
	if len(chart.Templates) == 0 || chart.Schema == nil {
		t.Error("the packaged chart has no templates or no schema")
	}
	if err := packageChart("../..", "not a version", out); err == nil {
		t.Error("a chart with a wrong version was packaged")
	}
}
