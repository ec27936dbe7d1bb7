// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

var _ = Describe("When a join gets a kubeconfig that does not lead to the member", func() {
	DescribeTable("it names the cluster, the address and the remedy, and registers nothing",
		func(ctx SpecContext, spoil func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo), words ...string) {
			name, file := unique("lost"), filepath.Join(GinkgoT().TempDir(), "kubeconfig")
			config, err := clientcmd.LoadFromFile(fleet.Member("member-3").Kubeconfig)
			Expect(err).NotTo(HaveOccurred())
			context := config.Contexts[config.CurrentContext]
			spoil(config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo])
			Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
			run := fleet.Hostctl(ctx, "join", name, "--cluster-kubeconfig", file)
			Expect(run.Code).To(Equal(1))
			for _, w := range append(words, name) {
				Expect(run.Stderr).To(ContainSubstring(w))
			}
			Expect(fleet.Host.lacks(registered(name))(ctx)).To(BeTrue())
		},
		Entry("the CA of another cluster", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			other, err := clientcmd.LoadFromFile(fleet.Member("member-1").Kubeconfig)
			Expect(err).NotTo(HaveOccurred())
			c.CertificateAuthorityData = other.Clusters[other.Contexts[other.CurrentContext].Cluster].CertificateAuthorityData
		}, "its certificate is not signed by the CA of the kubeconfig"),
		Entry("a CA that is no certificate", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData = []byte("nonsense")
		},
			"Check server, certificate-authority"),
		Entry("a token that is not accepted any more", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			*u = clientcmdapi.AuthInfo{Token: "expired"}
		}, "does not accept the credentials of the kubeconfig. They have expired, or are those of another cluster"),
		Entry("no credentials", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { *u = clientcmdapi.AuthInfo{} },
			"Check that the kubeconfig holds credentials"),
		Entry("an address where no server listens", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "https://127.0.0.1:1" },
			"https://127.0.0.1:1: nothing listens there"),
		Entry("a host name that does not resolve", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "https://nowhere.invalid:6443" },
			"this machine cannot resolve the host name nowhere.invalid"),
		Entry("an address that is no URL", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "::nonsense::" },
			"Check server"),
	)

	It("names a file without a cluster", func(ctx SpecContext) {
		file := filepath.Join(GinkgoT().TempDir(), "empty")
		Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
		run := fleet.Hostctl(ctx, "join", "lost", "--cluster-kubeconfig", file)
		Expect(run.Code).To(Equal(1))
		Expect(run.Stderr).To(And(ContainSubstring(file), ContainSubstring("--cluster-kubeconfig")))
	})
})
