// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// IsKnown reports whether a reason is in the tables of this package: each reason that Fairlead gives to a line, and the
// frequent ones of Kubernetes, OLM and kstatus. A member may report any text as a reason. So a caller that must not
// pass on a member's text passes on known reasons only.
func IsKnown(reason string) bool {
	_, known := steps[reason]
	return known || slices.Contains(tooFew, reason)
}

// Reasons of Kubernetes, OLM and kstatus that the tables of this package have, and the collector passes on.
const (
	transientFailure        = "TRANSIENT_FAILURE" // of a CatalogSource: OLM cannot connect to it
	catalogSourcesUnhealthy = "CatalogSourcesUnhealthy"
	installPlanFailed       = "InstallPlanFailed"
	resolutionFailed        = "ResolutionFailed"
	bundleUnpackFailed      = "BundleUnpackFailed"
	requirementsNotMet      = "RequirementsNotMet" // of a CSV
	provisioningFailed      = "ProvisioningFailed"

	failedCreate               = "FailedCreate"
	unschedulable              = "Unschedulable"
	schedulingGated            = "SchedulingGated"
	imagePullBackOff           = "ImagePullBackOff"
	invalidImageName           = "InvalidImageName"
	errImageNeverPull          = "ErrImageNeverPull"
	createContainerConfigError = "CreateContainerConfigError"
	createContainerError       = "CreateContainerError"
	runContainerError          = "RunContainerError"
	postStartHookError         = "PostStartHookError"
	failedMount                = "FailedMount"
	failedAttachVolume         = "FailedAttachVolume"
	failedCreatePodSandBox     = "FailedCreatePodSandBox"
	evicted                    = "Evicted"
	podFailed                  = "PodFailed"
	containerError             = "Error"
	oomKilled                  = "OOMKilled"
	crashLoopBackOff           = "CrashLoopBackOff"
	podNotReady                = v1alpha1.ReasonPodNotReady
	backoffLimitExceeded       = "BackoffLimitExceeded"

	lessReplicas  = "LessReplicas"
	lessUpdated   = "LessUpdated"
	lessAvailable = "LessAvailable"
	lessReady     = "LessReady"
	inProgress    = "InProgress"
)
