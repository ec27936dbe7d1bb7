// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Message is the message of a line about a healthy object that has drifted.
func Message(e *v1alpha1.InventoryEntry, d *v1alpha1.Drift) string {
	by := ""
	if d.Manager != "" {
		by = " by " + d.Manager
	}
	switch d.Kind {
	case v1alpha1.DriftGone:
		return fmt.Sprintf("%s %s was deleted", e.Kind, e.Name)
	case v1alpha1.DriftReplaced:
		return fmt.Sprintf("%s %s was deleted, and another object of that name was created%s", e.Kind, e.Name, by)
	}
	message := fmt.Sprintf("%s %s was changed%s", e.Kind, e.Name, by)
	if len(d.Fields) > 0 {
		message += ": " + strings.Join(d.Fields[:min(len(d.Fields), 3)], ", ")
	}
	return message
}
