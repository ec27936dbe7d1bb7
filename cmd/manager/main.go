// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers"
	"github.com/fairlead-dev/fairlead/controllers/memberreport"
	"github.com/fairlead-dev/fairlead/internal/admission/certificate"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/tracing/otlp"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// lastTraces is the longest time that the manager waits at its end for the export of the last traces.
const lastTraces = 2 * time.Second

func main() {
	metrics := flag.String("metrics-address", "127.0.0.1:8080", "Address for metrics, as in 127.0.0.1:8080; 0 disables them.")
	probes := flag.String("health-address", "0", "Address for /healthz and /readyz; 0 disables them.")
	profiles := flag.String("pprof-address", "0", "Address for /debug/pprof; 0 disables it. Every client that reaches it can read the manager's memory.")
	webhookAddress := flag.String("webhook-address", "127.0.0.1", "The address that the webhooks listen on.")
	webhookPort := flag.Int("webhook-port", 9443, "The port that the webhooks listen on; 0 disables the webhooks.")
	certDir := flag.String("webhook-cert-dir", "", "The folder with tls.crt and tls.key for the webhooks.")
	rotate := flag.Bool("webhook-cert-rotate", false, "Keep the certificate of the webhooks in Secret fairlead-system/webhook.tls, renew it, and write its CA into the webhook configurations. "+
		"The Secret has to be mounted at --webhook-cert-dir.")
	elect := flag.Bool("leader-elect", true, "Work only while holding the lease fairlead-system/fairlead-manager.")
	podUID := flag.String("pod-uid", os.Getenv("POD_UID"), "The uid of the pod, from the downward API, if the manager is its only container (default $POD_UID). "+
		"A manager that starts in this pod after its predecessor died takes the lease before it expires.")
	lockFile := flag.String("lock-file", "", "A file that this manager keeps locked, if it does not run in a pod. "+
		"A manager that starts with the same file after its predecessor died takes the lease before it expires.")
	maxInflight := flag.Int("max-inflight-per-member", inflight.Most, "The largest number of wrappers that the manager pushes to one member at the same time. "+
		"The number begins at "+strconv.Itoa(inflight.First)+" and grows while the member answers as quickly as before; a 429 response halves the number.")
	shares := flag.Bool("share-intents", true, "Let new wrappers that wait at a member share one write of what is about to be created there. "+
		"A manager without this flag does not read that list. Before such a manager runs on this host again, start this one with false, and wait until all pushes have ended.")
	reinstalls := flag.Bool("reinstall-operators", false, "Let spec.upgrade.rollback: Reinstall remove operators on members and install them again. "+
		"Try it on a test fleet only: docs/adr/0029 lists cases in which the operator does not come back by itself. "+
		"Without it, no reinstall begins. One that has begun is finished if all versions of the operator are removed, and otherwise stopped.")
	evidenceMiB := flag.Int("member-reports-memory", memberreport.DefaultMemory>>20, "How many MiB of memory the evidence of unhealthy objects on members may take. "+
		"It also bounds the MemberReports in etcd. One member may take an eighth of it.")
	said := flag.Bool("version", false, "Print the version and exit.")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse() // controller-runtime defines the flag --kubeconfig
	if *said {
		_, _ = fmt.Println("manager", version.String())
		return
	}
	if *maxInflight < 1 {
		_, _ = fmt.Fprintf(os.Stderr, "Error: --max-inflight-per-member=%d: give at least 1, because with 0 the manager would push nothing\n", *maxInflight)
		os.Exit(2)
	}
	if *evidenceMiB < 1 {
		_, _ = fmt.Fprintf(os.Stderr, "Error: --member-reports-memory=%d: give at least 1, the memory in MiB\n", *evidenceMiB)
		os.Exit(2)
	}
	rotation := certificate.Rotation{}
	if *rotate {
		rotation.Dir = *certDir
		if *certDir == "" || *webhookPort == 0 {
			_, _ = fmt.Fprintln(os.Stderr, "Error: --webhook-cert-rotate needs --webhook-cert-dir, and a --webhook-port other than 0")
			os.Exit(2)
		}
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))

	options := ctrl.Options{
		Metrics:                 metricsserver.Options{BindAddress: *metrics},
		HealthProbeBindAddress:  *probes,
		PprofBindAddress:        *profiles,
		LeaderElection:          *elect,
		LeaderElectionID:        "fairlead-manager",
		LeaderElectionNamespace: v1alpha1.SystemNamespace,
		// Release the lease at the end, so that the next leader need not wait until the lease expires. This is safe because
		// the process ends as soon as the manager has stopped.
		LeaderElectionReleaseOnCancel: true,
	}
	if *webhookPort != 0 {
		files := certificate.NewFiles(*certDir, clock.RealClock{})
		options.WebhookServer = webhook.NewServer(webhook.Options{Host: *webhookAddress, Port: *webhookPort,
			TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.GetCertificate = files.Get }}})
	}
	own := controllers.Options{Version: version.String(), MaxInflight: *maxInflight, SharesIntents: *shares, ReinstallsOperators: *reinstalls,
		MemberReportsMemory: *evidenceMiB << 20, Clock: clock.RealClock{}}
	if *elect {
		own.Predecessor = proofOfPredecessor(*podUID, *lockFile, ctrl.Log)
	}
	if err := run(options, own, rotation); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run runs the manager until the process gets a signal. If rotation.Dir is set, it also renews the webhooks' certificate.
// At the end it exports the last traces.
func run(options ctrl.Options, own controllers.Options, rotation certificate.Rotation) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the host: %w", err)
	}
	config.QPS = -1 // no limit by the client: the API server's priority and fairness limits the manager
	ctx := ctrl.SetupSignalHandler()
	traces, err := otlp.FromEnvironment(ctx, own.Version, own.Clock, ctrl.Log.WithName("tracing"))
	if err != nil {
		return err
	}
	own.Tracer = traces.Tracer()
	mgr, err := controllers.NewManager(ctx, config, options, own)
	if err != nil {
		return err
	}
	if rotation.Dir != "" {
		if err := certificate.Rotate(ctx, mgr.GetLocalManager(), rotation); err != nil {
			return err
		}
	}
	if err := mgr.Start(ctx); err != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("running the manager: %w", err) // at once: a manager that lost its lease must not go on
	}
	last, cancel := context.WithTimeout(context.Background(), lastTraces)
	defer cancel()
	if err := traces.Shutdown(last); err != nil {
		ctrl.Log.Info("the last traces are lost", "error", err.Error())
	}
	return nil
}
