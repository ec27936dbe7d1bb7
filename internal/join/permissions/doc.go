// SPDX-License-Identifier: Apache-2.0

// Package permissions defines what the host and the collector may do on a member. It has no client: package memberinstall
// writes the objects that give these permissions.
//
// Words:
//
//   - *Grants* are the rights that the member gives the host: profiles (core, storage, volumes, olm, catalogs, secrets,
//     rbac, any) and single GROUP/RESOURCEs.
//   - The *admission policy* is the ValidatingAdmissionPolicy by which the member restricts the host's account to open
//     namespaces.
//   - The *host's account* is the service account fairlead-host on the member, which the host uses. The *collector's
//     account* is the service account fairlead-collector, see docs/adr/0014.
//   - A *former* right is a right that a profile included in an earlier version, and does not include today.
package permissions
