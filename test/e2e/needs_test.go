// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// Needs of specs that clusters of kind do not meet. A spec without one of these labels runs on every provider.
var (
	// needsAuditLog: the spec counts requests in the API servers' audit logs, which kind does not write.
	needsAuditLog = Label("audit-log")
	// needsProcesses: the spec looks at the sandbox's processes, kills one, or starts a second sandbox.
	needsProcesses = Label("processes")
	// needsOLM: the spec installs operators. In kind, OLM and its operators need images of their own.
	needsOLM = Label("olm")
	// needsThirdMember: the spec places on member-3. The clusters of kind are two members.
	needsThirdMember = Label("third-member")
	// needsSimulation: the spec needs nodes, pods or volumes that the sandbox simulates. Pods run without an existing
	// image, claims bind without a pod, and the spec itself acts as the resizer.
	needsSimulation = Label("simulation")
	// needsOpenMembers: the spec writes to member-1 what only the grant any and the policy All allow. With kind, that
	// member has the default grants and the policy Managed.
	needsOpenMembers = Label("open-members")
)

// metByKind is the label filter that leaves out the specs whose needs kind does not meet.
func metByKind() string {
	var filter []string
	for _, need := range []Labels{needsAuditLog, needsProcesses, needsOLM, needsThirdMember, needsSimulation, needsOpenMembers} {
		filter = append(filter, "!"+need[0])
	}
	return strings.Join(filter, " && ")
}
