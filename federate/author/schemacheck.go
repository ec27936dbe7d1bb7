// SPDX-License-Identifier: Apache-2.0

package author

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
)

// misfits returns an error for each value in a wrapper that the schema of its CustomResourceDefinition refuses. It uses
// the API server's validator, so the texts are those of the API server.
func misfits(m Manifest) []error {
	validatorOf := federatedValidator
	if m.Object.GetKind() == string(v1alpha1.KindClusterFederated) {
		validatorOf = clusterFederatedValidator
	}
	validator, err := validatorOf()
	if err != nil {
		return []error{err}
	}
	var found []*Error
	for _, err := range validator.Validate(m.Object.Object).Errors {
		misfit := (*openapierrors.Validation)(nil)
		if !errors.As(err, &misfit) {
			found = append(found, &Error{Where: m.Where, Text: err.Error()})
			continue
		}
		if misfit.Value == "null" || fieldIsOpen(misfit) { // API servers drop nulls before they validate
			continue
		}
		text := strings.TrimPrefix(misfit.Error(), fmt.Sprintf("%s in %s ", misfit.Name, misfit.In))
		found = append(found, &Error{Where: m.Where, Field: misfit.Name, Text: text})
	}
	slices.SortStableFunc(found, func(a, b *Error) int { return strings.Compare(a.Field, b.Field) })
	all := make([]error, 0, len(found))
	for _, err := range found {
		all = append(all, err)
	}
	return all
}

// fieldIsOpen reports whether an error of the validator says that the placement is missing. misfits leaves this error
// out, because `hostctl render` needs no placement when the user names the cluster.
func fieldIsOpen(misfit *openapierrors.Validation) bool {
	return misfit.Name == "spec.placement.clusters" && misfit.Code() == openapierrors.RequiredFailCode
}

var (
	federatedValidator        = sync.OnceValues(func() (*validate.SchemaValidator, error) { return validatorOf("federateds") })
	clusterFederatedValidator = sync.OnceValues(func() (*validate.SchemaValidator, error) { return validatorOf("clusterfederateds") })
)

// validatorOf returns the validator for one of Fairlead's own resources, made from its CustomResourceDefinition.
func validatorOf(resource string) (*validate.SchemaValidator, error) {
	crd, err := config.CustomResourceDefinition(resource + "." + v1alpha1.Group)
	if err != nil {
		return nil, err
	}
	versions := mapsAt(crd.Object, "spec", "versions")
	if len(versions) != 1 {
		return nil, fmt.Errorf("reading the schema of %s: it has %d versions, and hostctl reads only a schema with one version", resource, len(versions))
	}
	data, err := json.Marshal(fieldAt(versions[0], "schema", "openAPIV3Schema"))
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", resource, err)
	}
	schema := &spec.Schema{}
	if err := json.Unmarshal(data, schema); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", resource, err)
	}
	return validate.NewSchemaValidator(schema, nil, "", strfmt.Default), nil
}
