// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/fairlead-dev/fairlead/internal/collect"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/version"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "collector:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := flag.NewFlagSet("collector", flag.ExitOnError)
	klog.InitFlags(flags)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig of the member; without it the collector observes the cluster that it runs in")
	clusterName := flags.String("cluster-name", "", "the name under which the member joined; the collector refuses a cluster that joined under another name")
	maxInflight := flags.Int("max-inflight", inflight.Most, "the largest number of Deliveries that the collector judges at the same time; the number begins at "+
		strconv.Itoa(inflight.First)+" and grows while the member answers as quickly as before; a 429 response halves the number")
	healthAddress := flags.String("health-address", "", "address of /healthz and /readyz, as in :8081; without it the collector serves neither")
	showVersion := flags.Bool("version", false, "print the version and exit")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if *showVersion {
		fmt.Println(version.String())
		return nil
	}
	if *maxInflight < 1 {
		return fmt.Errorf("--max-inflight=%d: give at least 1, because with 0 the collector would judge no Delivery", *maxInflight)
	}
	config, err := load(*kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent = "fairlead-collector/" + version.String()
	c, err := collect.New(collect.Options{ClusterName: *clusterName, Config: config, Version: version.String(), MaxInflight: *maxInflight})
	if err != nil {
		return err
	}
	if *healthAddress != "" {
		stop, err := serveHealth(*healthAddress, c)
		if err != nil {
			return err
		}
		defer stop()
	}
	klog.InfoS("Observing", "endpoint", config.Host, "version", version.String())
	return c.Run(ctx)
}

func load(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("the collector does not run in a pod, so give --kubeconfig with a kubeconfig of the member: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading --kubeconfig: %w", err)
	}
	return config, nil
}
