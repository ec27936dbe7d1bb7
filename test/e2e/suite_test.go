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

// fleet is the fleet that all specs share.
var fleet *TestFleet

const (
	// patience bounds the wait for a condition that depends on a few writes and watches.
	patience = 60 * time.Second
	// upWithin bounds the start of the fleet in a sandbox. The binaries of the control planes have been built before.
	upWithin = 10 * time.Minute
	// kindUpWithin bounds the start of the fleet with kind, whose nodes have to start kubelets and load images.
	kindUpWithin = 20 * time.Minute
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
	if provider.Chosen() == provider.Kind && suite.LabelFilter == "" {
		suite.LabelFilter = metByKind()
	}
	RunSpecs(t, "Fairlead", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	fleet = bringUp(ctx)
}, NodeTimeout(bringUpWithin()))

func bringUpWithin() time.Duration {
	if provider.Chosen() == provider.Kind {
		return kindUpWithin
	}
	return upWithin
}

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
