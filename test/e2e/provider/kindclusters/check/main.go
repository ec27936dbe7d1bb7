// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/fairlead-dev/fairlead/test/e2e/provider/kindclusters"
)

func main() {
	o := kindclusters.Options{NodeImage: os.Getenv("KIND_NODE_IMAGE"), OtherNodeImage: os.Getenv("KIND_OTHER_NODE_IMAGE")}
	flag.StringVar(&o.Name, "name", "", "The first part of the clusters' names: NAME-host, NAME-member-1, …")
	flag.BoolVar(&o.Keep, "keep", false, "Clusters of these names may exist.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := kindclusters.Check(ctx, o)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
