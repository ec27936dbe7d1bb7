// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"os"
	"strings"
)

// kernelID returns the id of this boot of the kernel. All containers on a machine have the same id.
func kernelID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("identifying the kernel: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}
