// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"

	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// textMaps are the fields of Kubernetes' own kinds that map keys to text. A null in them stands for the empty text,
// as in `KEY:` of a ConfigMap: the key is there.
var textMaps = oneOf("annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector", "parameters", "stringData")

// withoutNulls removes nulls, as `kubectl create` does for custom resources. Server-side apply on a member does not
// remove them, and refuses them. A null in a list stays, because the later items would get other indexes.
func withoutNulls(c *cleaning) {
	_, isOwn := kubernetes[c.gk.Group]
	for _, null := range strictjson.Nulls(c.content, nil) {
		switch {
		case null.Parent == nil: // nullItems notes it
		case isOwn && textMaps(null.Within):
			null.Parent[null.Key] = ""
			c.note(`%s was null and is "" now, which is what kubectl makes of it`, null.Field)
		default:
			delete(null.Parent, null.Key)
			c.note("%s left out: it was null, which members refuse where a field is not nullable", null.Field)
		}
	}
}

func nullItems(m Manifest) []string {
	var notes []string
	for _, null := range strictjson.Nulls(m.Object.Object, nil) {
		notes = append(notes, fmt.Sprintf("%s is null: a member may refuse it; take it out of the list", null.Field))
	}
	return notes
}
