// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

const (
	// failureFolder is the folder for the state of a fleet after a failure.
	failureFolder = "_artifacts/skew/failure"
	// savedWithin bounds the time to save the state.
	savedWithin = 3 * time.Minute
)

// saveFailure saves the state of the fleet in failureFolder, and tells where. The clusters are taken down afterwards, with their logs.
func (f *fleet) saveFailure(ctx context.Context, cause error, p *progress.Printer) {
	clusters, err := f.installation.provider()
	if err != nil {
		p.Note("the clusters did not start, so there are no logs to save: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), savedWithin)
	defer cancel()
	reader := func(name string) (client.Reader, error) { return f.clientFor(name) }
	if err := save(ctx, failureFolder, cause, clusters, reader); err != nil {
		p.Note("saving the state of the fleet: %v", err)
	}
	p.Note("the managers' logs, the wrappers and the Deliveries are in %s", failureFolder)
}

// save writes the cause of a failure, the managers' logs, the wrappers, the MemberClusters, and the Deliveries of each member into the folder dir, which
// it first empties. A file of a list that cannot be read has the error.
func save(ctx context.Context, dir string, cause error, clusters provider.Provider, reader func(name string) (client.Reader, error)) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	var errs []error
	write := func(name string, content []byte) {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	write("failure.txt", []byte(cause.Error()+"\n"))
	write("manager.log", clusters.ManagerLog(ctx))
	for file, list := range map[string]client.ObjectList{
		"federateds": &v1alpha1.FederatedList{}, "clusterfederateds": &v1alpha1.ClusterFederatedList{}, "memberclusters": &v1alpha1.MemberClusterList{},
	} {
		write("host-"+file+".yaml", asYAML(ctx, provider.Host, list, reader))
	}
	for _, name := range clusters.MemberNames() {
		write(name+"-deliveries.yaml", asYAML(ctx, name, &v1alpha1.DeliveryList{}, reader))
	}
	return errors.Join(append(errs, clusters.Export(ctx, dir))...)
}

// asYAML returns a list of a cluster as YAML, or the error as a comment.
func asYAML(ctx context.Context, cluster string, list client.ObjectList, reader func(name string) (client.Reader, error)) []byte {
	c, err := reader(cluster)
	if err != nil {
		return fmt.Appendf(nil, "# listing %T on %s: %v\n", list, cluster, err)
	}
	return provider.ListAsYAML(ctx, c, cluster, list)
}
