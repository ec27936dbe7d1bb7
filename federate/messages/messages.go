// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Few joins names for a message. The parameter most is the greatest number of names. Few adds the number of the others.
func Few(names []string, most int) string {
	if over := len(names) - most; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), over)
	}
	return strings.Join(names, ", ")
}

// Count returns a number of things in words, for example "1 member" and "2 members". The parameter one is the word for one of them.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// ApproveCommand returns the command `hostctl approve` for a wrapper. The caller appends the flag for the action.
func ApproveCommand(kind v1alpha1.WrapperKind, namespace, name string) string {
	return command("approve", kind, namespace, name)
}

// KeptCommand returns the command `hostctl kept` for a wrapper. That command lists the wrapper's objects that stayed on
// members when the wrapper left them.
func KeptCommand(kind v1alpha1.WrapperKind, namespace, name string) string {
	return command("kept", kind, namespace, name)
}

// StatusCommand returns the command `hostctl rollout status` for a wrapper.
func StatusCommand(kind v1alpha1.WrapperKind, namespace, name string) string {
	return command("rollout status", kind, namespace, name)
}

func command(verb string, kind v1alpha1.WrapperKind, namespace, name string) string {
	return "hostctl " + verb + " " + Argument(kind, namespace, name)
}

// Argument returns a wrapper as hostctl's commands take it: `NAME -n NAMESPACE`, or `cfed/NAME`.
func Argument(kind v1alpha1.WrapperKind, namespace, name string) string {
	if kind == v1alpha1.KindClusterFederated {
		return "cfed/" + name
	}
	return name + " -n " + namespace
}
