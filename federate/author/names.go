// SPDX-License-Identifier: Apache-2.0

package author

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxWrapperName is the limit of a wrapper's name: it must fit into labels, with room for derived names.
const maxWrapperName = 63

// wrapperNames are <kind>-<name> in lower case, one for each item. If that is no valid name, is too long, or is shared
// by two items of a namespace, the name ends in a digest of the object's identity.
func wrapperNames(items []*item) []string {
	type place struct{ namespace, name string }
	count := map[place]int{}
	for _, i := range items {
		if name, exact := plainName(i); exact {
			count[place{i.Object.GetNamespace(), name}]++
		}
	}
	names := make([]string, 0, len(items))
	for _, i := range items {
		name, exact := plainName(i)
		if !exact || len(name) > maxWrapperName || count[place{i.Object.GetNamespace(), name}] > 1 {
			name = digested(name, i.gk(), i.Object.GetName())
		}
		names = append(names, name)
	}
	return names
}

// plainName is <kind>-<name> with a dash for each invalid character, such as the colon in system:aggregate-to-view.
// exact reports whether no character was replaced.
func plainName(i *item) (name string, exact bool) {
	joined := strings.ToLower(i.Object.GetKind() + "-" + i.Object.GetName())
	if len(validation.IsDNS1123Subdomain(joined)) == 0 {
		return joined, true
	}
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, joined), "-"), false
}

func digested(plain string, gk schema.GroupKind, objectName string) string {
	sum := sha256.Sum256([]byte(gk.Group + "/" + gk.Kind + "/" + objectName))
	tail := "-" + hex.EncodeToString(sum[:4])
	if limit := maxWrapperName - len(tail); len(plain) > limit {
		plain = plain[:limit]
	}
	return strings.Trim(plain, "-.") + tail
}

func partName(bundle string, part int) string {
	return fmt.Sprintf("%s-%d", bundle, part)
}

// order is the order of kinds in the output, for a reader: an object comes after those that it depends on. Members get
// the objects in the order of rendering instead.
var order = strings.Fields("Namespace CustomResourceDefinition PriorityClass StorageClass VolumeSnapshotClass PersistentVolume " +
	"ClusterRole ClusterRoleBinding ServiceAccount Role RoleBinding ResourceQuota LimitRange NetworkPolicy Secret ConfigMap " +
	"PersistentVolumeClaim Service Deployment StatefulSet DaemonSet ReplicaSet Pod Job CronJob HorizontalPodAutoscaler " +
	"PodDisruptionBudget Ingress CatalogSource OperatorGroup Subscription")

// rank is the place of a kind in the order; other kinds come last. It ignores the group.
func rank(gk schema.GroupKind) int {
	for i, kind := range order {
		if kind == gk.Kind && builtIn(gk) != "" {
			return i
		}
	}
	return len(order)
}
