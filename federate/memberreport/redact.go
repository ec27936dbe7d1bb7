// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// Redacted returns a copy of the status of a report, in which the texts of the member are redacted (see evidence.Redacted).
func Redacted(is *v1alpha1.MemberReportStatus) *v1alpha1.MemberReportStatus {
	out := *is
	out.Message, out.Evidence = health.Tidy(is.Message, maxMessage), evidence.Redacted(&is.Evidence)
	return &out
}
