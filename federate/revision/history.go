// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
)

const (
	// HistoryKeyBytes is the smallest length, in bytes, of the secret from which a HistoryKey is derived.
	HistoryKeyBytes = 32
	// encryption is the name of the algorithm. Encrypted revisions have it in their content and in their label.
	encryption = "aes-256-gcm"
	// maxRevision limits the size of a decrypted and decompressed revision, in bytes. No valid revision reaches it, because
	// an API server accepts only far smaller objects.
	maxRevision = 16 << 20
)

// ErrOtherKey is the error for a revision that is encrypted with a key that this host does not have now.
var ErrOtherKey = errors.New("it was encrypted with another key")

// HistoryKey encrypts the revisions that hold a Secret, and attests the authors of all revisions. If the key is lost,
// the encrypted revisions cannot be read, and the author of content that is not yet stored as a revision is unknown. It
// is safe for concurrent use. A nil HistoryKey neither encrypts nor decrypts, and its Author returns "".
type HistoryKey struct {
	id      string
	names   []byte
	authors []byte
	aead    cipher.AEAD
}

// envelope is the JSON content of an encrypted ControllerRevision.
type envelope struct {
	Encryption string `json:"encryption"`
	// Key is the id of the key with which Content is encrypted.
	Key string `json:"key"`
	// Content is the nonce, followed by the ciphertext of the compressed revision. Without the compression, base64
	// would make a large revision too large for etcd.
	Content []byte `json:"content"`
}

// NewHistoryKey derives the keys for the host's revisions from a stored secret. It returns an error if secret has fewer
// than HistoryKeyBytes bytes.
func NewHistoryKey(secret []byte) (*HistoryKey, error) {
	if len(secret) < HistoryKeyBytes {
		return nil, fmt.Errorf("the key has %d bytes, but needs at least %d", len(secret), HistoryKeyBytes)
	}
	k := &HistoryKey{}
	var content, id []byte
	for info, to := range map[string]*[]byte{"content": &content, "names": &k.names, "authors": &k.authors, "id": &id} {
		derived, err := hkdf.Key(sha256.New, secret, nil, "fairlead history "+info, 32)
		if err != nil {
			return nil, fmt.Errorf("deriving a key: %w", err)
		}
		*to = derived
	}
	k.id = hex.EncodeToString(id[:8])
	block, err := aes.NewCipher(content)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	if k.aead, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	return k, nil
}

// Label returns the value of the label LabelContent for a revision. With this label, the manager can list the revisions
// that this key cannot decrypt.
func (k *HistoryKey) Label(r Revision) string {
	if !r.HoldsSecret {
		return v1alpha1.ContentPlain
	}
	if k == nil {
		return encryption
	}
	return encryption + "." + k.id
}

// Name returns the name of the ControllerRevision for a revision of a wrapper. The name ends in a digest of the
// content. If the content has a Secret, the digest also depends on the key, so that a reader without the key cannot
// check a guess of the Secret's value. With the same key, the same content always has the same name.
func (k *HistoryKey) Name(kind v1alpha1.WrapperKind, wrapper types.NamespacedName, r Revision) string {
	letters := r.Hash
	if r.HoldsSecret && k != nil {
		mac := hmac.New(sha256.New, k.names)
		digest.WritePieces(mac, []byte(kind), []byte(wrapper.Namespace), []byte(wrapper.Name), r.Data)
		letters = revisionHash(mac.Sum(nil))
	}
	return Name(kind, wrapper.Name, letters)
}

// Encode returns the content of the ControllerRevision with this name, for the wrapper with this uid. If the revision
// contains a Secret, Encode encrypts the content. Decode then needs the same name and the same uid.
func (k *HistoryKey) Encode(r Revision, wrapper types.UID, name string) ([]byte, error) {
	if !r.HoldsSecret {
		return r.Data, nil
	}
	if k == nil {
		return nil, errors.New("the revision contains a Secret, and the host has no key to encrypt it")
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(r.Data)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compressing it: %w", err)
	}
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // crypto/rand never fails
	data, err := json.Marshal(envelope{Encryption: encryption, Key: k.id,
		Content: k.aead.Seal(nonce, nonce, packed.Bytes(), additional(wrapper, name))})
	if err != nil {
		return nil, fmt.Errorf("writing it as JSON: %w", err)
	}
	return data, nil
}

// Decode decodes the stored content of a ControllerRevision, plain or encrypted. wrapper and name must be the uid and
// the name that Encode got. The error wraps ErrOtherKey if the content was encrypted with another key.
func (k *HistoryKey) Decode(stored []byte, wrapper types.UID, name string) (Revision, error) {
	var e envelope
	if err := json.Unmarshal(stored, &e); err != nil {
		return Revision{}, fmt.Errorf("reading revision %s: %w", name, err)
	}
	if e.Encryption == "" {
		return revisionOfContent(stored, name)
	}
	if e.Encryption != encryption {
		return Revision{}, fmt.Errorf("reading revision %s: its encryption %.32q is not %s", name, e.Encryption, encryption)
	}
	if k == nil || e.Key != k.id {
		return Revision{}, fmt.Errorf("reading revision %s: %w, %.32q", name, ErrOtherKey, e.Key)
	}
	size := k.aead.NonceSize()
	if len(e.Content) < size {
		return Revision{}, fmt.Errorf("reading revision %s: its content is cut off", name)
	}
	packed, err := k.aead.Open(nil, e.Content[:size], e.Content[size:], additional(wrapper, name))
	if err != nil {
		return Revision{}, fmt.Errorf("decrypting revision %s: it was changed, or belongs to another wrapper or another name: %w", name, err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Revision{}, fmt.Errorf("unpacking revision %s: %w", name, err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxRevision))
	if err != nil {
		return Revision{}, fmt.Errorf("unpacking revision %s: %w", name, err)
	}
	return revisionOfContent(data, name)
}

// additional returns the additional data of the encryption. It binds an encrypted revision to its wrapper and its name,
// so that a client cannot copy it to another ControllerRevision.
func additional(wrapper types.UID, name string) []byte {
	var b bytes.Buffer
	digest.WritePieces(&b, []byte("fairlead revision"), []byte(wrapper), []byte(name))
	return b.Bytes()
}
