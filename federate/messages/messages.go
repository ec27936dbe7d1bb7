// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Few lists names for a message. It lists at most `most` of them, and counts the others.
func Few(names []string, most int) string {
	if over := len(names) - most; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), over)
	}
	return strings.Join(names, ", ")
}

// ApproveCommand is the command line with which the on-call approves an action on a wrapper. The caller appends the
// flags that name the action.
func ApproveCommand(kind v1alpha1.WrapperKind, namespace, name string) string {
	return command("approve", kind, namespace, name)
}

// KeptCommand is the command line that lists what members keep of a wrapper after it left them.
func KeptCommand(kind v1alpha1.WrapperKind, namespace, name string) string {
	return command("kept", kind, namespace, name)
}

func command(verb string, kind v1alpha1.WrapperKind, namespace, name string) string {
	if kind == v1alpha1.KindClusterFederated {
		return "hostctl " + verb + " cfed/" + name
	}
	return "hostctl " + verb + " " + name + " -n " + namespace
}
