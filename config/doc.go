// SPDX-License-Identifier: Apache-2.0

// Package config carries the manifests of this folder inside the programs: the CRDs, the roles and the registration of
// the webhook. hostctl installs from it on a host, join takes from it what a member gets, and tests load the very same
// files into a real API server. So what is installed can't be of another version than the program that installs it.
//
// The folders are the words of this package: Objects(CRD) is what lies in crd/. CRDs are generated from the types in
// apis/ (make generate); everything else is written by hand. What kustomize needs on top of the manifests
// (kustomization.yaml) is no object and is skipped.
package config
