// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// changeSecret sets keys of the Secret with the host's credentials for a member. After the spec it puts the Secret back.
func changeSecret(ctx context.Context, member string, data map[string]string) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: member}}
	Expect(fleet.Host.Get(ctx, keyOf(secret), secret)).To(Succeed())
	good := secret.DeepCopy().Data
	DeferCleanup(func(ctx SpecContext) {
		edit(ctx, secret, func(s *corev1.Secret) { s.Data = good })
	})
	edit(ctx, secret, func(s *corev1.Secret) {
		for key, value := range data {
			s.Data[key] = []byte(value)
		}
	})
}

// breakCollector moves the collector of a member into the manager, and gives the manager a token for it that the member refuses. The
// sandbox's own collector goes on, but it does not count.
func breakCollector(ctx context.Context, member string) {
	GinkgoHelper()
	changeSecret(ctx, member, map[string]string{v1alpha1.SecretCollectorToken: "nonsense"})
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: member}}
	run := func(ctx context.Context, mode v1alpha1.CollectorMode) {
		edit(ctx, mc, func(mc *v1alpha1.MemberCluster) { mc.Spec.Collector = mode })
	}
	DeferCleanup(func(ctx SpecContext) { run(ctx, v1alpha1.CollectorExternal) })
	run(ctx, v1alpha1.CollectorHost)
}

// forbidSecrets makes the member refuse all new Secrets in Fairlead's namespace, so that the manager can renew no token.
func forbidSecrets(ctx context.Context, member *TestCluster) {
	GinkgoHelper()
	member.create(ctx, build.Manifest(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: no-secrets, namespace: %s}, spec: {hard: {secrets: "0"}}}`, v1alpha1.SystemNamespace))
	Eventually(ctx, member.field("ResourceQuota", v1alpha1.SystemNamespace, "no-secrets", "status", "used")).ShouldNot(BeNil())
}

// agedToken returns the host's token for a member as it would be if it had been issued this long ago, for 30 days. The member accepts
// it, because it is signed with the member's own key.
func agedToken(ctx context.Context, member string, age time.Duration) string {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: member}}
	Expect(fleet.Host.Get(ctx, keyOf(secret), secret)).To(Succeed())
	header, rest, _ := strings.Cut(string(secret.Data[v1alpha1.SecretToken]), ".")
	payload, _, _ := strings.Cut(rest, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	Expect(err).NotTo(HaveOccurred())
	claims := make(map[string]any)
	Expect(json.Unmarshal(text, &claims)).To(Succeed())
	issued := time.Now().Add(-age)
	claims["iat"], claims["nbf"], claims["exp"] = issued.Unix(), issued.Unix(), issued.Add(30*24*time.Hour).Unix()
	text, err = json.Marshal(claims)
	Expect(err).NotTo(HaveOccurred())

	spec, err := fleet.Sandbox.Cluster(member)
	Expect(err).NotTo(HaveOccurred())
	file, err := os.ReadFile(filepath.Join(spec.Dir, "pki", "sa.key"))
	Expect(err).NotTo(HaveOccurred())
	block, _ := pem.Decode(file)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	Expect(err).NotTo(HaveOccurred())
	signed := header + "." + base64.RawURLEncoding.EncodeToString(text)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	Expect(err).NotTo(HaveOccurred())
	signature := make([]byte, 64) // as ES256 has it
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}
