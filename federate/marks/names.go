// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// MaxName is the longest name that Kubernetes accepts for an object.
const MaxName = 253

// DeliveryName is the name of a wrapper's Delivery on every member: fed.<namespace>.<name> or cfed.<name>. A name of
// more than 253 characters keeps its beginning and ends in a digest of the whole name.
func DeliveryName(kind v1alpha1.WrapperKind, namespace, name string) string {
	if kind == v1alpha1.KindClusterFederated {
		return Bounded("cfed."+name, MaxName)
	}
	return Bounded("fed."+namespace+"."+name, MaxName)
}

// WrapperPath is the name of a wrapper in the mark AnnotationWrapper: federated/<namespace>/<name> or
// clusterfederated/<name>.
func WrapperPath(kind v1alpha1.WrapperKind, namespace, name string) string {
	if kind == v1alpha1.KindClusterFederated {
		return "clusterfederated/" + name
	}
	return "federated/" + namespace + "/" + name
}

// ObjectPath is the name of an object in the mark AnnotationObject: <resource>.<group>/<namespace>/<name>. Empty parts
// are left out.
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

// Bounded returns a name of at most limit characters. A longer name keeps its beginning and ends in a digest of the
// whole name.
func Bounded(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:5])
	// A cut right after a dot or a dash would leave ".-" or "--" before the digest, and such a name is invalid.
	return strings.TrimRight(name[:limit-len(tail)], ".-") + tail
}
