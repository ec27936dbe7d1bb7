// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
)

const (
	fieldManager = "hostctl-sandbox"
	// ready is the state in a CatalogSource's status as long as OLM has a connection to the catalog's server.
	ready = "READY"
)

// definitionsWithin and readyWithin bound two steps. A step takes a second or two, and several times as long on a busy laptop. lookAgain
// is the time between two looks at whether a step is done.
const (
	definitionsWithin = time.Minute
	readyWithin       = 2 * time.Minute
	lookAgain         = 200 * time.Millisecond
)

// Install installs OLM and the catalog on a cluster, and waits until OLM has a connection to the catalog. It can be called again at any time: it keeps what
// exists, also the published versions.
func Install(ctx context.Context, c Cluster) error {
	if err := install(ctx, c); err != nil {
		return fmt.Errorf("installing OLM on %s: %w", c.Name, err)
	}
	return nil
}

func install(ctx context.Context, c Cluster) error {
	address, err := c.address()
	if err != nil {
		return err
	}
	if err := c.startCatalog(); err != nil {
		return err
	}
	api, err := newClient(c.REST)
	if err != nil {
		return err
	}
	if err := applyDefinitions(ctx, api); err != nil {
		return err
	}
	for _, o := range append(namespaces(), objects(address)...) {
		if err := apply(ctx, api, o); err != nil {
			return err
		}
	}
	for _, p := range c.processes(address) {
		if err := c.AddProcess(ctx, p); err != nil {
			return fmt.Errorf("starting %s: %w", p.Name, err)
		}
	}
	return c.waitConnected(ctx, api, time.Time{})
}

// startCatalog writes a catalog with the first version, unless there is a catalog already.
func (c Cluster) startCatalog() error {
	_, err := os.Stat(c.catalogFile())
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the catalog: %w", err)
	}
	return c.writeCatalog(demooperator.Versions()[:1])
}

// newClient returns a client for OLM's kinds. When the client does not know a kind, it repeats discovery, because the API server may have
// begun to serve that kind.
func newClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, apiextensionsv1.AddToScheme, operatorsv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("making a client: %w", err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return api, nil
}

// applyDefinitions applies OLM's CRDs, and waits until the API server serves them all.
func applyDefinitions(ctx context.Context, api client.Client) error {
	for _, crd := range definitions() {
		if err := apply(ctx, api, crd); err != nil {
			return err
		}
	}
	for _, crd := range definitions() {
		if err := waitServed(ctx, api, crd.Name); err != nil {
			return err
		}
	}
	return nil
}

func waitServed(ctx context.Context, api client.Client, name string) error {
	err := wait.PollUntilContextTimeout(ctx, lookAgain, definitionsWithin, true, func(ctx context.Context) (bool, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := api.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
			return false, passing(err)
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established {
				return condition.Status == apiextensionsv1.ConditionTrue, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until CustomResourceDefinition %s is served: %w", name, err)
	}
	return nil
}

// apply applies an object with the sandbox's field manager. Only server-side apply works: the CRD of ClusterServiceVersion is too large for the annotation that
// a client-side apply writes.
func apply(ctx context.Context, api client.Client, o client.Object) error {
	want, err := stated(o)
	if err != nil {
		return err
	}
	name := want.GetKind() + " " + want.GetName()
	options := []client.ApplyOption{client.FieldOwner(fieldManager), client.ForceOwnership}
	if err := api.Apply(ctx, client.ApplyConfigurationFromUnstructured(want), options...); err != nil {
		return fmt.Errorf("applying %s: %w", name, err)
	}
	return nil
}

// waitConnected does the same as the function waitConnected, and names the logs of OLM's processes in its error.
func (c Cluster) waitConnected(ctx context.Context, api client.Client, since time.Time) error {
	if err := waitConnected(ctx, api, since); err != nil {
		return fmt.Errorf("%w (logs of catalogserver and catalog in %s tell more)", err, c.Dir)
	}
	return nil
}

// waitConnected waits until OLM reports that it has opened a new connection to the catalog's server, not earlier than the time in the
// argument since. OLM reads a changed catalog only over a new connection.
func waitConnected(ctx context.Context, api client.Client, since time.Time) error {
	since = since.Truncate(time.Second) // times in the API have no fractions of a second
	seen := "OLM has written no connection state into its status"
	err := wait.PollUntilContextTimeout(ctx, lookAgain, readyWithin, true, func(ctx context.Context) (bool, error) {
		var source operatorsv1alpha1.CatalogSource
		if err := api.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: CatalogSource}, &source); err != nil {
			seen = err.Error()
			return false, passing(err)
		}
		state := source.Status.GRPCConnectionState
		if state == nil {
			return false, nil
		}
		seen = "the state of OLM's connection is " + state.LastObservedState
		return state.LastObservedState == ready && !state.LastConnectTime.Time.Before(since), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for CatalogSource %s/%s: %s: %w", systemNamespace, CatalogSource, seen, err)
	}
	return nil
}

// passing returns nil for an error that may be gone at the next try, so that the caller tries again. It returns any other error
// unchanged.
func passing(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return err
	}
	return nil
}
