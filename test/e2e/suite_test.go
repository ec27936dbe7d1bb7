// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// fleet is the fleet that all specs of this process share.
var fleet *TestFleet

const (
	// patience bounds the wait for a condition that depends on a few writes and watches.
	patience = 60 * time.Second
	// upWithin bounds the start of a cluster, and other work of minutes.
	upWithin = 10 * time.Minute
	// bringUpWithin bounds the build of the programs from empty caches, and after it the start of the fleet. With kind the nodes have to
	// start kubelets and load images.
	bringUpWithin = 30 * time.Minute
)

func TestMain(m *testing.M) {
	sandbox.SuperviseIfAsked()
	os.Exit(m.Run())
}

func TestEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("brings up a fleet")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(2 * time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter)))
	suite, reporter := GinkgoConfiguration()
	if provider.Chosen() == provider.Kind {
		suite.LabelFilter = metByKind(suite.LabelFilter)
	}
	RunSpecs(t, "Fairlead", suite, reporter)
}

// One process builds the programs, because all fleets need the same ones. Ginkgo shows what this process prints at once. What the
// processes print while they start their fleets, ginkgo shows when the fleets are up.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) {
	buildPrograms(ctx)
}, func(ctx SpecContext) {
	fleet = bringUp(ctx)
}, NodeTimeout(bringUpWithin))

var _ = AfterSuite(func(ctx SpecContext) {
	if fleet == nil || keep() {
		return
	}
	Expect(fleet.Down(ctx)).To(Succeed())
}, NodeTimeout(time.Minute))

// The state of the fleet is saved before the failed spec cleans up. After the cleanup it would not show the cause.
var _ = JustAfterEach(func(ctx SpecContext) {
	if fleet != nil && CurrentSpecReport().Failed() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		fleet.dump(within, CurrentSpecReport())
	}
})
