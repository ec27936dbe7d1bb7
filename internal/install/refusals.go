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
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// oldestKubernetes is the oldest version that has everything that the host part uses.
var oldestKubernetes = utilversion.MustParseGeneric("1.30.0")

// ErrNoImage is the error when neither a flag nor the values name the manager's image.
var ErrNoImage = errors.New("which image of the manager? No registry has the images of Fairlead yet: push them with `make images PUSH=REGISTRY/PREFIX`, " +
	"and give --image REGISTRY/PREFIX/manager@sha256:…, or image.repository in --values")

// ErrNoRecord is the error when the values of the present installation are not known. The defaults would reset them.
var ErrNoRecord = errors.New("the host has a manager, but no ConfigMap " + systemNamespace + "/" + recordName + " with the values of its installation: give --values " +
	"with the present values of the manager (an empty file for the defaults)")

// checkKubernetes refuses a cluster that is too old.
func checkKubernetes(gitVersion string) error {
	found, err := utilversion.ParseGeneric(gitVersion)
	if err != nil {
		return fmt.Errorf("reading the version of the API server: %w", err)
	}
	if found.LessThan(oldestKubernetes) {
		return fmt.Errorf("the cluster is Kubernetes %s, and a host needs 1.30 or later. Upgrade the cluster, or choose another cluster with --context. "+
			"A member may be older than its host", gitVersion)
	}
	return nil
}

// DowngradeError is the error when the host has a newer version, or fields that only a newer version has.
type DowngradeError struct {
	There, Version string
	// Fields are the fields that the CRDs on the host have and those of this version lack. They are empty if the versions could be
	// compared.
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

// checkOrder refuses to replace a newer version. Versions without an order are not compared.
func checkOrder(there, installed string, allow bool) error {
	if there == "" || allow {
		return nil
	}
	if order, err := version.Compare(there, installed); err == nil && order > 0 {
		return &DowngradeError{There: there, Version: installed}
	}
	return nil
}

// checkFields refuses to replace a CRD by one that lacks fields. The versions alone do not show that: an image may have no tag, and a
// build no version.
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

// OtherFairleadError is the error when another tool installed Fairlead on the cluster, or another Fairlead serves it.
type OtherFairleadError struct{ What, WayOut string }

func (e *OtherFairleadError) Error() string {
	return fmt.Sprintf("the cluster has another Fairlead: %s. %s", e.What, e.WayOut)
}

// RightsError is the error when the user lacks rights.
type RightsError struct {
	Missing []string
	// Remedy is the way out. If it is "", the message asks for another user.
	Remedy string
}

// remedyInstall tells a user without the rights to install the host part how to do it.
const remedyInstall = "To install the host part a user needs cluster-admin: choose another user with --context, or have an administrator apply the output of " +
	"`hostctl init --dry-run -o yaml`"

func (e *RightsError) Error() string {
	return fmt.Sprintf("your user lacks rights on the cluster: %s. %s", strings.Join(e.Missing, "; "),
		cmp.Or(e.Remedy, "Choose another user with --context, or ask an administrator for these rights"))
}

// explain describes why the host cannot be reached, as join does.
func explain(err error, endpoint string) error { return join.Explain(err, "the host", endpoint) }
