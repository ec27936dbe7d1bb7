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
)

// fleet is what every spec has in hand.
var fleet *Fleet

const (
	// patience is how long a condition may take that depends on a few writes and watches.
	patience = 60 * time.Second
	// upWithin bounds bringing the fleet up, control planes built.
	upWithin = 10 * time.Minute
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
	RunSpecs(t, "Fairlead")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	fleet = bringUp(ctx)
}, NodeTimeout(upWithin))

var _ = AfterSuite(func(ctx SpecContext) {
	if fleet == nil || os.Getenv("FAIRLEAD_E2E_KEEP") != "" {
		return
	}
	_, err := sandbox.Down(ctx, fleet.Name)
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(time.Minute))

// A spec that failed is told apart from one that found trouble by what the fleet looked like then; its own cleanup comes later.
var _ = JustAfterEach(func(ctx SpecContext) {
	if fleet != nil && CurrentSpecReport().Failed() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		fleet.dump(within, CurrentSpecReport())
	}
})
