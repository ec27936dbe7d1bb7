// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/crdfields"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// oldestKubernetes is the oldest Kubernetes version whose API server serves every API that the host part uses.
var oldestKubernetes = utilversion.MustParseGeneric("1.30.0")

// ErrNoImage means that neither a flag nor the values name the manager's image.
var ErrNoImage = errors.New("no image of the manager is given, and no registry has the images of Fairlead yet: push them with `make images PUSH=REGISTRY/PREFIX`, " +
	"and give --image REGISTRY/PREFIX/manager@sha256:…, or image.repository in --values")

// ErrNoRecord means that the host has a manager, but no record of its values. An installation with the defaults would
// silently reset those values.
var ErrNoRecord = errors.New("the host has a manager, but no ConfigMap " + systemNamespace + "/" + recordName + " with the values of its installation. Give --values FILE " +
	"with the manager's present values, or with an empty file for the defaults")

// checkKubernetes refuses a cluster whose Kubernetes is older than oldestKubernetes.
func checkKubernetes(gitVersion string) error {
	found, err := utilversion.ParseGeneric(gitVersion)
	if err != nil {
		return fmt.Errorf("reading the version of the API server: %w", err)
	}
	if found.LessThan(oldestKubernetes) {
		return fmt.Errorf("the cluster is Kubernetes %s, and a host needs 1.30 or later. Upgrade the cluster, or choose another cluster with --context", gitVersion)
	}
	return nil
}

// DowngradeError means that the host has a newer version than this hostctl, or that its CRDs have fields of a newer
// version.
type DowngradeError struct {
	There, Version string
	// Fields are the fields that the CRDs on the host have and the CRDs of this version lack. Fields is empty if the host's version is
	// newer than this version.
	Fields []string
}

func (e *DowngradeError) Error() string {
	if len(e.Fields) > 0 {
		return fmt.Sprintf("the CRDs of the host have fields that this hostctl, %s, does not know: %s. The API server would drop them from stored objects. Use the hostctl "+
			"that installed the host, or a later one. To drop them, give --allow-downgrade", e.Version, strings.Join(e.Fields, ", "))
	}
	return fmt.Sprintf("the host has %s, which is newer than this hostctl, %s. Use a hostctl of that version or later. To install the older version, "+
		"give --allow-downgrade; an older manager may not know fields that the newer one has stored", e.There, e.Version)
}

// checkOrder returns a *DowngradeError if the host's version (there) is newer than the version that this hostctl installs.
// If the two versions cannot be compared, checkOrder returns nil, and checkFields decides by the CRDs.
func checkOrder(there, installed string, allow bool) error {
	if there == "" || allow {
		return nil
	}
	if order, err := version.Compare(there, installed); err == nil && order > 0 {
		return &DowngradeError{There: there, Version: installed}
	}
	return nil
}

// checkFields returns a *DowngradeError if a CRD on the host has a field that the CRD of this version lacks. It finds
// downgrades that checkOrder misses: an image may have no tag and a build may have no version, and then there are no
// versions to compare.
func (i *installer) checkFields(ctx context.Context) error {
	if i.opts.AllowDowngrade {
		return nil
	}
	refusal := &DowngradeError{There: i.there.version(), Version: i.opts.Version}
	for _, obj := range i.objects {
		if obj.GetKind() != "CustomResourceDefinition" {
			continue
		}
		there := &unstructured.Unstructured{}
		there.SetGroupVersionKind(obj.GroupVersionKind())
		err := i.Get(ctx, client.ObjectKeyFromObject(obj), there)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return forbidden(err, "reading CRD "+obj.GetName())
		}
		for _, field := range crdfields.Missing(there.Object, obj.Object) {
			refusal.Fields = append(refusal.Fields, obj.GetName()+" "+field)
		}
	}
	if len(refusal.Fields) > 0 {
		return refusal
	}
	return nil
}

// OtherFairleadError means that another tool installed Fairlead on the cluster, or that the cluster has a second manager.
type OtherFairleadError struct{ What, WayOut string }

func (e *OtherFairleadError) Error() string {
	return fmt.Sprintf("the cluster has another Fairlead: %s. %s", e.What, e.WayOut)
}

// RightsError tells which rights the user lacks.
type RightsError struct {
	Missing []string
	// Remedy tells the user what to do. If it is "", the message asks for another user or for these rights.
	Remedy string
}

// remedyInstall is the Remedy for a user who lacks the rights to install the host part.
const remedyInstall = "To install the host part a user needs cluster-admin: choose another user with --context, or have an administrator apply the output of " +
	"`hostctl init --dry-run -o yaml`"

func (e *RightsError) Error() string {
	return fmt.Sprintf("your user lacks rights on the cluster: %s. %s", strings.Join(e.Missing, "; "),
		cmp.Or(e.Remedy, "Choose another user with --context, or ask an administrator for these rights"))
}

// explain returns an error that tells why hostctl cannot reach the host, with the same text as in a join.
func explain(err error, endpoint string) error { return cluster.Explain(err, "the host", endpoint) }
