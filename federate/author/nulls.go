// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"

	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// textMaps are fields of Kubernetes' own kinds that map keys to text. In them, null means "": a ConfigMap with `KEY:`
// in its data has the key KEY with an empty text.
var textMaps = oneOf("annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector", "parameters", "stringData")

// withoutNulls removes fields that are null, as `kubectl create` does for custom resources. In a server-side apply,
// members refuse a null in a field that is not nullable. A null in a list stays, because removing it would change the
// indexes of later items.
func withoutNulls(c *cleaning) {
	_, isOwn := kubernetes[c.gk.Group]
	for _, null := range strictjson.Nulls(c.content, nil) {
		switch {
		case null.Parent == nil: // the null is in a list and stays; nullItems adds a note about it
		case isOwn && textMaps(null.Within):
			null.Parent[null.Key] = ""
			c.note(`%s was null; hostctl replaced it by "", as kubectl does`, null.Field)
		default:
			delete(null.Parent, null.Key)
			c.note("%s left out: it was null, which members refuse where a field is not nullable", null.Field)
		}
	}
}

func nullItems(m Manifest) []string {
	var notes []string
	for _, null := range strictjson.Nulls(m.Object.Object, nil) {
		notes = append(notes, fmt.Sprintf("%s is null: a member may refuse it; remove it from the list", null.Field))
	}
	return notes
}
