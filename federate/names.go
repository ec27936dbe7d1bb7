// SPDX-License-Identifier: Apache-2.0

package federate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// maxName is the longest name that Kubernetes accepts for an object.
const maxName = 253

// DeliveryName is the name of a wrapper's Delivery on every member: fed.<namespace>.<name> or
// cfed.<name>. A name past 253 characters keeps its beginning and ends in a digest of the whole.
func DeliveryName(kind v1alpha1.WrapperKind, namespace, name string) string {
	if kind == v1alpha1.KindClusterFederated {
		return bounded("cfed."+name, maxName)
	}
	return bounded("fed."+namespace+"."+name, maxName)
}

// WrapperPath is how the mark AnnotationWrapper names a wrapper: federated/<namespace>/<name> or
// clusterfederated/<name>.
func WrapperPath(kind v1alpha1.WrapperKind, namespace, name string) string {
	if kind == v1alpha1.KindClusterFederated {
		return "clusterfederated/" + name
	}
	return "federated/" + namespace + "/" + name
}

// ObjectPath is how the mark AnnotationObject names an object: <resource>.<group>/<namespace>/<name>,
// without the parts that are empty.
func ObjectPath(resource, group, namespace, name string) string {
	path := resource
	if group != "" {
		path += "." + group
	}
	if namespace != "" {
		path += "/" + namespace
	}
	return path + "/" + name
}

func bounded(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:5])
	// A cut right behind a dot or a dash would leave "…-" beside the tail's own dash, which is no name.
	return strings.TrimRight(name[:limit-len(tail)], ".-") + tail
}

// Few lists names for a message, at most so many of them, and counts the others.
func Few(names []string, most int) string {
	if over := len(names) - most; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), over)
	}
	return strings.Join(names, ", ")
}

// ApproveCommand is how a person begins to approve something for a wrapper: what is allowed follows it.
func ApproveCommand(kind v1alpha1.WrapperKind, namespace, name string) string {
	return command("approve", kind, namespace, name)
}

// KeptCommand is how a person lists what members keep of a wrapper that is out of care there.
func KeptCommand(kind v1alpha1.WrapperKind, namespace, name string) string {
	return command("kept", kind, namespace, name)
}

func command(verb string, kind v1alpha1.WrapperKind, namespace, name string) string {
	if kind == v1alpha1.KindClusterFederated {
		return "hostctl " + verb + " cfed/" + name
	}
	return "hostctl " + verb + " " + name + " -n " + namespace
}
