// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/imagename"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// Options are the settings of an installation.
type Options struct {
	// Values is the content of a values file. If it is nil, the installation uses the values in the record, or else the
	// defaults.
	Values []byte
	// Image is the manager's image, as in REPOSITORY:TAG. If it is "", the values name the image.
	Image string
	// Version is the version to install: that of this hostctl.
	Version string
	// AllowDowngrade lets an older version replace a newer one.
	AllowDowngrade bool
	// DryRun makes the installation send every write as a dry run, and wait for nothing.
	DryRun bool
	// Wait is how long the installation waits for the manager and its webhooks. With 0 it does not wait.
	Wait time.Duration
	// Change, if it is set, may modify each object before the installation applies the object. Tests set the URL of the
	// webhooks with it, because the API server of a test cannot reach a Service.
	Change func(*unstructured.Unstructured) error
}

// Result describes an installation.
type Result struct {
	// Before is the version that the host had before this installation; "" if it had none, or if that version is not known.
	Before, Version, Image string
	KubernetesVersion      string
	Replicas               int32
	// Changes counts the objects that were created, changed or deleted.
	Changes int
}

// installer has the state of one installation. Each step fills a group of fields, which later steps read. The comment
// above a group names the step.
type installer struct {
	connection
	applier  applier
	opts     Options
	progress *progress.Printer

	// Filled by checkCluster.
	kubernetes string
	// Filled by discover.
	there host
	// Filled by decide.
	values     manifests.Values
	valuesText []byte
	objects    []*unstructured.Unstructured
}

// Install installs the host part (see the package comment), or repairs or upgrades it. printer shows the progress.
func Install(ctx context.Context, cfg *rest.Config, opts Options, printer *progress.Printer) (*Result, error) {
	c, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	i := &installer{connection: c, applier: applier{client: c.Client, dryRun: opts.DryRun}, opts: opts, progress: printer}
	for _, step := range []func(context.Context) error{
		i.checkCluster,
		i.discover,
		i.decide,
		i.checkFields,
		i.checkRoles,
		i.applyAll,
		i.await,
		i.prune, // last, because the earlier manager needs its roles, account and Service until the new manager runs
	} {
		if err := step(ctx); err != nil {
			if rights := (*RightsError)(nil); errors.As(err, &rights) {
				rights.Remedy = remedyInstall
			}
			return nil, fmt.Errorf("installing the host part: %w", err)
		}
	}
	return &Result{
		Before: i.there.version(), Version: opts.Version, Image: i.values.Image.Reference(imagename.TagOf(opts.Version)),
		KubernetesVersion: i.kubernetes, Replicas: i.values.Replicas, Changes: i.applier.changes,
	}, nil
}

// checkCluster refuses a cluster whose Kubernetes is too old, and a user who lacks the rights to install there.
func (i *installer) checkCluster(ctx context.Context) error {
	found, err := i.discovery.ServerVersion()
	if err != nil {
		return explain(err, i.endpoint)
	}
	i.kubernetes = found.GitVersion
	if err := checkKubernetes(found.GitVersion); err != nil {
		return err
	}
	objects, err := manifests.Objects(manifests.Default(), "")
	if err != nil {
		return err
	}
	return checkRights(ctx, i.connection, objects)
}

// discover reads which objects of Fairlead exist on the cluster. It refuses a cluster on which another tool installed
// Fairlead.
func (i *installer) discover(ctx context.Context) error {
	var err error
	if i.there, err = readHost(ctx, i.connection); err != nil {
		return explain(err, i.endpoint)
	}
	if err := i.there.refuse(); err != nil {
		return err
	}
	i.progress.Note("the host is Kubernetes %s at %s", i.kubernetes, i.endpoint)
	return nil
}

// decide chooses the values: those that the user gave, or else those in the record. Then it renders the objects. It refuses
// a downgrade.
func (i *installer) decide(context.Context) error {
	if err := checkOrder(i.there.version(), i.opts.Version, i.opts.AllowDowngrade); err != nil {
		return err
	}
	i.valuesText = i.opts.Values
	from := "the values"
	if i.valuesText == nil {
		if i.there.manager() != nil && i.there.record.values == nil {
			return ErrNoRecord
		}
		i.valuesText = i.there.record.values
		if len(i.valuesText) > 0 {
			from = "the values of the last installation (ConfigMap " + recordName + ")"
			i.progress.Note("using %s", from)
		}
	}
	var err error
	if i.opts.Image != "" {
		if i.valuesText, err = manifests.SetImage(i.valuesText, i.opts.Image); err != nil {
			return fmt.Errorf("reading %s: %w", from, err)
		}
	}
	if i.values, err = manifests.Parse(i.valuesText); err != nil {
		return fmt.Errorf("reading %s: %w", from, err)
	}
	if i.values.Image.Repository == manifests.PlaceholderRepository && !i.opts.DryRun {
		return ErrNoImage
	}
	if !i.values.CreateNamespace && !i.there.hasNamespace {
		return fmt.Errorf("the value createNamespace is false, and the cluster has no namespace %[1]s: run `kubectl create namespace %[1]s`, or leave that value out", systemNamespace)
	}
	i.objects, err = manifests.Objects(i.values, imagename.TagOf(i.opts.Version))
	if err != nil {
		return err
	}
	for _, obj := range i.objects {
		if i.opts.Change == nil {
			break
		}
		if err := i.opts.Change(obj); err != nil {
			return err
		}
	}
	return nil
}
