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

// maxWrapperName is the greatest length of a wrapper's name, so that the name fits into a label.
const maxWrapperName = 63

// wrapperNames returns a name for each item: <kind>-<name> in lower case. If that is invalid, too long, or the same for
// two items of a namespace, the name ends in a digest of the object's identity.
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

// plainName returns <kind>-<name>, with a dash for each character that is invalid in a name, such as the colon in
// system:aggregate-to-view. exact is true if it replaced no character.
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

// order is the order of kinds in the output, for a reader: an object comes after the objects that it needs. The order
// on members is that of package render, whatever the order here.
var order = strings.Fields("Namespace CustomResourceDefinition PriorityClass StorageClass VolumeSnapshotClass PersistentVolume " +
	"ClusterRole ClusterRoleBinding ServiceAccount Role RoleBinding ResourceQuota LimitRange NetworkPolicy Secret ConfigMap " +
	"PersistentVolumeClaim Service Deployment StatefulSet DaemonSet ReplicaSet Pod Job CronJob HorizontalPodAutoscaler " +
	"PodDisruptionBudget Ingress CatalogSource OperatorGroup Subscription")

// rank returns the index of a kind in the list order. It returns the length of the list for a kind that is not in the
// list. A kind of another API group can have the same name as a kind in the list. For such a kind, rank returns the index
// only if the tables in kindscopes.go have the kind in its API group.
func rank(gk schema.GroupKind) int {
	for i, kind := range order {
		if kind == gk.Kind && builtIn(gk) != "" {
			return i
		}
	}
	return len(order)
}
