// SPDX-License-Identifier: Apache-2.0

package memberreport

import rules "github.com/fairlead-dev/fairlead/federate/memberreport"

// share is the part of the memory that the evidence of one member may take: an eighth. With it, a hostile member cannot crowd out
// the evidence of the others.
const share = 8

// memory counts how many bytes of memory, by estimate, the evidence takes. It is not safe for concurrent use.
type memory struct {
	limit, used int
	// byMember has, by member, the bytes that its evidence takes. A sample of a member counts for that member as long as the sample is
	// kept, even if the member itself has recovered and only other members still share the report.
	byMember map[string]int
}

var _ rules.Account = &memory{}

// Take implements Account.
func (m *memory) Take(member string, bytes int) bool {
	if bytes > 0 && (m.used+bytes > m.limit || m.byMember[member]+bytes > m.limit/share) {
		return false
	}
	m.Add(member, bytes)
	return true
}

// Add implements Account.
func (m *memory) Add(member string, bytes int) {
	m.used += bytes
	if m.byMember[member] += bytes; m.byMember[member] == 0 {
		delete(m.byMember, member)
	}
}
