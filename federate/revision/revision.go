// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// hashLength is the number of characters that distinguish the revisions of one wrapper. They allow more than 2^45
// values.
const hashLength = 10

// Revision is the part of a wrapper that determines the pushed objects: its objects, its overrides and its upgrade. The
// placement, and the policies for drift, conflicts and deletion, are not part of it.
type Revision struct {
	// Hash has hashLength characters. Their alphabet has no vowels, so that a hash spells no words.
	Hash string
	// HoldsSecret reports whether an object is a Secret or contains one, or an override can apply to one.
	HoldsSecret bool
	// Data is the content of the ControllerRevision: {"objects": [...], "overrides": [...], "upgrade": {...}}, canonical. The last two are absent
	// if the wrapper has none: an earlier version gave such a revision the same name.
	Data []byte
}

// Of returns the revision that a spec describes. The order of keys and the whitespace in objects and overrides make no
// difference.
func Of(spec *v1alpha1.WrapperSpec) (Revision, error) {
	content := make(map[string]any, 3)
	objects := make([]any, len(spec.Objects))
	for i := range spec.Objects {
		obj, err := strictjson.Decode(spec.Objects[i])
		if err != nil {
			return Revision{}, fmt.Errorf("reading objects[%d]: %w", i, err)
		}
		objects[i] = obj.Object
	}
	content["objects"] = objects

	if len(spec.Overrides) > 0 {
		list := make([]any, len(spec.Overrides))
		for i := range spec.Overrides {
			var err error
			if list[i], err = decoded(&spec.Overrides[i]); err != nil {
				return Revision{}, fmt.Errorf("reading overrides[%d]: %w", i, err)
			}
		}
		content["overrides"] = list
	}
	upgrade, err := decoded(&spec.Upgrade)
	if err != nil {
		return Revision{}, fmt.Errorf("reading upgrade: %w", err)
	}
	if fields, _ := upgrade.(map[string]any); len(fields) > 0 {
		content["upgrade"] = fields
	}

	data, err := digest.CanonicalJSON(content)
	if err != nil {
		return Revision{}, fmt.Errorf("writing the revision: %w", err)
	}
	return newRevision(content, data), nil
}

// decoded is a value as JSON decodes it.
func decoded(from any) (value any, err error) {
	data, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("writing it as JSON: %w", err)
	}
	return value, utiljson.Unmarshal(data, &value)
}

// Spec returns the objects, the overrides and the upgrade of a revision. The other fields of the spec are not part of a revision.
func (r Revision) Spec() (*v1alpha1.WrapperSpec, error) {
	spec := &v1alpha1.WrapperSpec{}
	if err := utiljson.Unmarshal(r.Data, spec); err != nil {
		return nil, fmt.Errorf("reading the objects of the revision: %w", err)
	}
	return spec, nil
}

func newRevision(content map[string]any, data []byte) Revision {
	sum := sha256.Sum256(data)
	return Revision{Hash: revisionHash(sum[:]), HoldsSecret: HoldsSecret(content), Data: data}
}

// revisionOfContent returns the revision that the plain content of a ControllerRevision describes.
func revisionOfContent(data []byte, name string) (Revision, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return Revision{}, fmt.Errorf("reading revision %s: %w", name, err)
	}
	if _, ok := content["objects"].([]any); !ok {
		return Revision{}, fmt.Errorf("reading revision %s: it has no objects", name)
	}
	return newRevision(content, data), nil
}

func revisionHash(sum []byte) string {
	return rand.SafeEncodeString(base32.StdEncoding.EncodeToString(sum)[:hashLength])
}

// HoldsSecret reports whether a decoded value has a Secret anywhere, also within another object (a List, a Template).
// It also reports an override that can target a Secret.
func HoldsSecret(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		if kind := v["kind"]; kind == "Secret" || kind == "SecretList" {
			// An object of the core group has apiVersion v1. A target of the core group has no group, or "".
			version, group := v["apiVersion"], v["group"]
			if (version == nil || version == "v1") && (group == nil || group == "") {
				return true
			}
		}
		for key := range v {
			if HoldsSecret(v[key]) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, HoldsSecret)
	}
	return false
}

// Name returns the name of the ControllerRevision of a wrapper: fed-<name>-<hash> or cfed-<name>-<hash>. If the name
// has more than 253 characters, its middle is shortened, and the hash stays whole.
func Name(kind v1alpha1.WrapperKind, name, hash string) string {
	prefix := "fed-"
	if kind == v1alpha1.KindClusterFederated {
		prefix = "cfed-"
	}
	return marks.Bounded(prefix+name, marks.MaxName-len(hash)-1) + "-" + hash
}
