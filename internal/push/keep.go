// SPDX-License-Identifier: Apache-2.0

package push

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/federate"
)

// mayReplace says whether an object of a kind may be deleted to be made again; what KeepData keeps
// never is, whatever its annotation says, but for StorageClasses, which hold no data themselves.
func mayReplace(gk schema.GroupKind) bool {
	return !federate.HoldsData(gk) || gk.Kind == "StorageClass"
}

// holdsOthers says whether deleting an object of a kind deletes what others have put into it.
func holdsOthers(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Namespace"} ||
		gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}
