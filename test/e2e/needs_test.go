// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// A label below tells that a spec needs something that clusters of kind do not have. A spec without such a label runs with every
// provider.
var (
	// needsAuditLog: the spec counts requests in the API servers' audit logs, which kind does not write.
	needsAuditLog = Label("audit-log")
	// needsProcesses: the spec reads or kills the sandbox's processes, or starts a second sandbox.
	needsProcesses = Label("processes")
	// needsOLM: the spec needs OLM on every member and the sandbox's catalogs, to which it publishes versions. On kind, kubelet_olm_test.go
	// installs OLM in pods.
	needsOLM = Label("olm")
	// needsSimulation: the spec needs what the sandbox simulates. There, pods run without a real image, claims bind without
	// a pod, and the spec itself plays the volume resizer.
	needsSimulation = Label("simulation")
	// needsOpenMembers: the spec writes objects to every member that need the grant any and the policy All. With kind, member-1 has
	// the default grants and the policy Managed. A spec that needs only one such member uses openMember instead.
	needsOpenMembers = Label("open-members")
)

// openMember is a member with the grant any and the namespace policy All, with every provider.
const openMember = "member-3"

// needsOtherKubernetes: the spec needs a member of another version of Kubernetes, which kind has if KIND_OTHER_NODE_IMAGE names an image.
var needsOtherKubernetes = Label("other-kubernetes")

// hasOtherKubernetes reports whether a member runs another version of Kubernetes than the rest.
func hasOtherKubernetes() bool { return os.Getenv("KIND_OTHER_NODE_IMAGE") != "" }

// needs are the labels of what no clusters of kind have.
func needs() []Labels {
	return []Labels{needsAuditLog, needsProcesses, needsOLM, needsSimulation, needsOpenMembers}
}

// metByKind returns the label filter for runs with kind. It leaves out every spec with a label of what these clusters do not have. A filter
// of the caller, given, takes the place of the labels in needs; "" means that the caller gave none.
func metByKind(given string) string {
	var filter []string
	if given != "" {
		filter = append(filter, "("+given+")")
	} else {
		for _, need := range needs() {
			filter = append(filter, "!"+need[0])
		}
	}
	if !hasOtherKubernetes() {
		filter = append(filter, "!"+needsOtherKubernetes[0])
	}
	return strings.Join(filter, " && ")
}
