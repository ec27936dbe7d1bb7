// SPDX-License-Identifier: Apache-2.0

// Package config embeds the manifests of this folder in the programs: CRDs, roles, the Deployment of the manager, and
// webhook configurations. `hostctl init` installs them on a host. `hostctl join` installs the members' CRDs. Tests
// apply the same files to a real API server. Because the manifests are embedded, a program always installs those of its
// own version.
//
// A constant of type Folder names a folder: Objects(CRD) returns the objects in crd/. `make generate` writes the CRDs
// from the types in apis/. People write all other manifests. Objects skips kustomization.yaml, which only kustomize
// reads.
package config
