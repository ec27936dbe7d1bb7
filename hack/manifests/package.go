// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

// packageChart writes the chart into the folder out, as `helm package` does. The argument version becomes the chart's appVersion,
// which is the default tag of the manager's image. Without the v it becomes the chart's version.
func packageChart(root, version, out string) error {
	chart, err := loader.Load(filepath.Join(root, "charts/fairlead"))
	if err != nil {
		return fmt.Errorf("loading the chart: %w", err)
	}
	chart.Metadata.Version, chart.Metadata.AppVersion = strings.TrimPrefix(version, "v"), version
	if err := chart.Validate(); err != nil {
		return fmt.Errorf("checking the chart: %w", err)
	}
	if _, err := chartutil.Save(chart, out); err != nil {
		return fmt.Errorf("packaging the chart: %w", err)
	}
	return nil
}
