// SPDX-License-Identifier: Apache-2.0

package marks

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// MaxName is the greatest length of an object's name in Kubernetes.
const MaxName = 253

// SharedIntents is the name of the Delivery on a member that has the intents of several new pairs (package push/intents).
// No wrapper's Delivery has this name.
const SharedIntents = "intents"

// DeliveryName returns the name of a wrapper's Delivery on every member: fed.<namespace>.<name> or cfed.<name>. A name
// that would have more than 253 characters is cut, and ends in a digest of the whole name.
func DeliveryName(kind v1alpha1.WrapperKind, namespace, name string) string {
	if kind == v1alpha1.KindClusterFederated {
		return Bounded("cfed."+name, MaxName)
	}
	return Bounded("fed."+namespace+"."+name, MaxName)
}

// WrapperPath returns the value of AnnotationWrapper for a wrapper: federated/<namespace>/<name> or
// clusterfederated/<name>.
func WrapperPath(kind v1alpha1.WrapperKind, namespace, name string) string {
	if kind == v1alpha1.KindClusterFederated {
		return "clusterfederated/" + name
	}
	return "federated/" + namespace + "/" + name
}

// ObjectPath returns the value of AnnotationObject for an object: <resource>.<group>/<namespace>/<name>. It leaves out
// empty parts.
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

// Bounded returns name if it has at most limit bytes. A longer name is cut, and ends in a digest of the whole name.
func Bounded(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:5])
	// Without the trim, a cut after a dot or a dash would give ".-" or "--" before the digest. ".-" is invalid in a name.
	return strings.TrimRight(name[:limit-len(tail)], ".-") + tail
}
