// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"slices"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// CSVContent has the fields of a ClusterServiceVersion that a decision about a reinstall needs. It leaves out the Deployments,
// which have quantities: a user of the member can write a quantity that takes very long to parse.
type CSVContent struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replaces string
		Cleanup  struct {
			Enabled bool
		}
		WebhookDefinitions        []struct{ Type string }
		CustomResourceDefinitions struct{ Owned, Required []OwnedCRD }
		APIServiceDefinitions     struct {
			Owned, Required []struct{ Group, Version, Kind string }
		}
	}
	Status struct{ Reason string }
}

// OwnedCRD names a CRD and one of its versions.
type OwnedCRD struct{ Name, Version, Kind string }

// APIOf returns the API of the CRD, in the form in which Operator has APIs.
func (c OwnedCRD) APIOf() string {
	return apiOfCRD(&operators.CRDDescription{Name: c.Name, Version: c.Version, Kind: c.Kind})
}

// copiedFrom is the label of a copy of a CSV of another namespace.
const copiedFrom = "olm.copiedFrom"

// CSV returns the CSV.
func (c *CSVContent) CSV() CSV {
	_, isCopy := c.Labels[copiedFrom]
	csv := CSV{
		Object: Object{Name: c.Name, UID: c.UID}, ResourceVersion: c.ResourceVersion, IsDeleted: c.DeletionTimestamp != nil, Finalizers: c.Finalizers,
		IsCopy: isCopy || c.Status.Reason == string(operators.CSVReasonCopied), Replaces: c.Spec.Replaces, CleansUp: c.Spec.Cleanup.Enabled,
		HasWebhooks: len(c.Spec.WebhookDefinitions) > 0,
	}
	crds := sets.New[string]()
	for _, crd := range c.Spec.CustomResourceDefinitions.Owned {
		csv.Owned = append(csv.Owned, crd.APIOf())
		crds.Insert(crd.Name)
	}
	csv.OwnedCRDs = sets.List(crds)
	for _, crd := range c.Spec.CustomResourceDefinitions.Required {
		csv.Required = append(csv.Required, crd.APIOf())
	}
	for _, api := range c.Spec.APIServiceDefinitions.Owned {
		csv.Owned = append(csv.Owned, apiOf(api.Group, api.Version, api.Kind))
	}
	for _, api := range c.Spec.APIServiceDefinitions.Required {
		csv.Required = append(csv.Required, apiOf(api.Group, api.Version, api.Kind))
	}
	// Bundles also say in their properties what they require: an API, a package, or a compound of them.
	properties := &bundle{provides: sets.New[string](), budget: maxRequirements}
	readProperties(c.Annotations[propertiesAnnotation], properties)
	for i := range properties.requires {
		csv.Required = append(csv.Required, properties.requires[i].leaves()...)
	}
	slices.Sort(csv.Required)
	csv.Required = slices.Compact(csv.Required)
	return csv
}

// leaves returns the APIs, packages and labels that a requirement names, without those that it excludes.
func (r *requirement) leaves() (all []string) {
	switch r.kind {
	case provided:
		return []string{r.what}
	case allOf, anyOf:
		for i := range r.parts {
			all = append(all, r.parts[i].leaves()...)
		}
	case noneOf, celRule:
	}
	return all
}
