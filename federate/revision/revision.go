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
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// hashLength is the number of characters of the hash that distinguishes the revisions of one wrapper. Ten characters
// allow more than 2^45 values.
const hashLength = 10

// Revision is the part of a wrapper that determines the pushed objects: its objects, its overrides and its upgrade. The
// placement, and the policies for drift, conflicts, deletion and the rollback of operators, are not part of it. With `approve: Latest`, the version
// that the manager took is part of it, in the field targetCSV.
type Revision struct {
	// Hash is a hash of Data with hashLength characters. Its alphabet has no vowels, so that it spells no words.
	Hash string
	// HoldsSecret is true if an object is or contains a Secret, or if an override can apply to a Secret.
	HoldsSecret bool
	// Data is the content of the ControllerRevision as canonical JSON: {"objects": [...], "overrides": [...],
	// "upgrade": {...}}. overrides and upgrade are absent if the wrapper has none. So a wrapper without upgrade keeps
	// the revision names of earlier versions of Fairlead, which did not have that field.
	Data []byte
}

// Of returns the revision of a spec. The order of keys and the whitespace in objects and overrides have no effect.
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
	versions := spec.Upgrade
	versions.Rollback = "" // a policy, as spec.drift: setting it must not begin a rollout
	upgraded, err := decoded(&versions)
	if err != nil {
		return Revision{}, fmt.Errorf("reading upgrade: %w", err)
	}
	if fields, _ := upgraded.(map[string]any); len(fields) > 0 {
		content["upgrade"] = fields
	}

	data, err := digest.CanonicalJSON(content)
	if err != nil {
		return Revision{}, fmt.Errorf("writing the revision: %w", err)
	}
	return newRevision(content, data), nil
}

// decoded converts a Go value into the form that a JSON decoder gives: maps, slices and scalars.
func decoded(from any) (value any, err error) {
	data, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("writing it as JSON: %w", err)
	}
	return value, utiljson.Unmarshal(data, &value)
}

// Spec returns a spec with the objects, the overrides and the upgrade of the revision. Its other fields are empty.
func (r Revision) Spec() (*v1alpha1.WrapperSpec, error) {
	spec := &v1alpha1.WrapperSpec{}
	if err := utiljson.Unmarshal(r.Data, spec); err != nil {
		return nil, fmt.Errorf("reading the objects of the revision: %w", err)
	}
	return spec, nil
}

// AsWritten returns the revision as the author wrote it: with `approve: Latest`, it leaves out the versions that the
// manager took.
func (r Revision) AsWritten() (Revision, error) {
	spec, err := r.Spec()
	if err != nil || !upgrade.TakesLatest(&spec.Upgrade) {
		return r, err
	}
	upgrade.AsWritten(&spec.Upgrade)
	return Of(spec)
}

func newRevision(content map[string]any, data []byte) Revision {
	sum := sha256.Sum256(data)
	return Revision{Hash: revisionHash(sum[:]), HoldsSecret: HoldsSecret(content), Data: data}
}

// revisionOfContent returns the revision with this plain content. name is the name of the ControllerRevision, for
// errors.
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

// HoldsSecret reports whether a decoded value contains a Secret at any depth, for example within a List or a Template.
// It also returns true for an override whose target can be a Secret, because a patch may contain the Secret's content.
func HoldsSecret(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		if kind := v["kind"]; kind == "Secret" || kind == "SecretList" {
			// A Secret has apiVersion v1. The target of an override for Secrets has no group, or the group "".
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

// Name returns the name of a ControllerRevision: fed-<name>-<hash> or cfed-<name>-<hash>. If it would have more than 253
// characters, <name> is shortened, and the hash stays whole.
func Name(kind v1alpha1.WrapperKind, name, hash string) string {
	prefix := "fed-"
	if kind == v1alpha1.KindClusterFederated {
		prefix = "cfed-"
	}
	return marks.Bounded(prefix+name, marks.MaxName-len(hash)-1) + "-" + hash
}
