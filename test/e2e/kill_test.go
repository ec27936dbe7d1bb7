// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// afterKill bounds the recovery after a kill: the lease of a killed manager has to expire, and a killed API server has to start
// again.
const afterKill = 2 * time.Minute

// The tests in test/faults kill the manager and the collector at each of their client calls. This spec also kills API servers and
// etcd, and kills them as the kernel does, with SIGKILL.
var _ = DescribeTable("When a process is killed in the middle of a change, the change is made all the same, and nothing else",
	needsProcesses, func(ctx SpecContext, cluster, process string) {
		shop, members := newShop(ctx), []*TestCluster{fleet.Member("member-1"), fleet.Member("member-2")}
		w := build.Federated("many").In(shop).To("member-1", "member-2").Obj()
		paint := func(w *v1alpha1.Federated, colour string) {
			w.Spec.Objects = nil
			for i := range 20 {
				w.Spec.Objects = append(w.Spec.Objects, build.Raw(build.ConfigMap(fmt.Sprintf("c-%02d", i), "colour", colour)))
			}
		}
		paint(w, "blue")
		Expect(fleet.Host.Create(ctx, w)).To(Succeed())
		expectReady(ctx, w)
		uids := make(map[string]types.UID)
		for _, m := range members {
			for i := range 20 {
				name := fmt.Sprintf("c-%02d", i)
				uids[m.Name+name] = m.fetch(ctx, "ConfigMap", shop, name).GetUID()
			}
		}

		dying := fleet.Process(ctx, cluster, process)
		edit(ctx, w, func(w *v1alpha1.Federated) { paint(w, "green") })
		Expect(syscall.Kill(dying.PID, syscall.SIGKILL)).To(Succeed())
		Eventually(ctx, func() int { return fleet.Process(ctx, cluster, process).PID }).WithTimeout(afterKill).ShouldNot(
			Or(Equal(dying.PID), BeZero()), "the supervisor must start the process again")
		Eventually(ctx, reread(ctx, w)).WithTimeout(afterKill).Should(beReady())
		for _, m := range members {
			for i := range 20 {
				name := fmt.Sprintf("c-%02d", i)
				is := m.fetch(ctx, "ConfigMap", shop, name)
				Expect(is.Object["data"]).To(Equal(map[string]any{"colour": "green"}), m.Name+" "+name)
				Expect(is.GetUID()).To(Equal(uids[m.Name+name]), "the object must keep its uid")
			}
		}
		Expect(fleet.Host.Delete(ctx, w)).To(Succeed())
		Eventually(ctx, fleet.Host.lacks(w)).WithTimeout(afterKill).Should(BeTrue())
		for _, m := range members {
			Expect(m.has("ConfigMap", shop, "c-00")(ctx)).To(BeFalse())
		}
	},
	Entry("the manager", sandbox.HostName, sandbox.ManagerProcess),
	Entry("a member's collector", "member-1", sandbox.CollectorProcess),
	Entry("a member's API server", "member-1", "kube-apiserver"),
	Entry("a member's etcd", "member-1", "etcd"),
	Entry("the host's API server", sandbox.HostName, "kube-apiserver"),
	Entry("the host's etcd", sandbox.HostName, "etcd"),
)
