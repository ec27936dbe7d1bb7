// SPDX-License-Identifier: Apache-2.0

package federate

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides"
)

// hashLength is how many characters tell one wrapper's revisions apart: more than 2^45 of them.
const hashLength = 10

// Revision is what makes members get something else: the objects and the overrides of a wrapper.
// Where they go, and what is done about drift, conflicts and deletion, is not part of it.
type Revision struct {
	// Hash is hashLength characters of an alphabet that spells no words.
	Hash string
	// Data is the content of the ControllerRevision: {"objects": [...], "overrides": [...]}, canonical.
	Data []byte
}

// RevisionOf is the revision that a spec describes. The order of keys and the whitespace in its
// objects and overrides make no difference.
func RevisionOf(spec *v1alpha1.WrapperSpec) (Revision, error) {
	content := make(map[string]any, 2)
	objects := make([]any, len(spec.Objects))
	for i := range spec.Objects {
		obj, err := overrides.Decode(spec.Objects[i])
		if err != nil {
			return Revision{}, fmt.Errorf("reading objects[%d]: %w", i, err)
		}
		objects[i] = obj.Object
	}
	content["objects"] = objects

	if len(spec.Overrides) > 0 {
		list := make([]any, len(spec.Overrides))
		for i := range spec.Overrides {
			data, err := json.Marshal(&spec.Overrides[i])
			if err != nil {
				return Revision{}, fmt.Errorf("writing overrides[%d]: %w", i, err)
			}
			if err = utiljson.Unmarshal(data, &list[i]); err != nil {
				return Revision{}, fmt.Errorf("reading overrides[%d]: %w", i, err)
			}
		}
		content["overrides"] = list
	}

	data, err := CanonicalJSON(content)
	if err != nil {
		return Revision{}, fmt.Errorf("writing the revision: %w", err)
	}
	sum := sha256.Sum256(data)
	letters := base32.StdEncoding.EncodeToString(sum[:])[:hashLength]
	return Revision{Hash: rand.SafeEncodeString(letters), Data: data}, nil
}

// RevisionName is the name of the ControllerRevision of a wrapper: fed-<name>-<hash> or
// cfed-<name>-<hash>. A name past 253 characters is shortened in its middle; the hash stays whole.
func RevisionName(kind v1alpha1.WrapperKind, name, hash string) string {
	prefix := "fed-"
	if kind == v1alpha1.KindClusterFederated {
		prefix = "cfed-"
	}
	return bounded(prefix+name, maxName-len(hash)-1) + "-" + hash
}

// CanonicalJSON writes a decoded JSON value in the one way in which digests are taken: keys sorted, no
// whitespace, <, > and & as they are, integers whole.
func CanonicalJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
