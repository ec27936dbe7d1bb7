// SPDX-License-Identifier: Apache-2.0

// Package discovery reads which API groups, versions and kinds a member serves, within bounds.
//
// Words: a *resource* is a kind as the member serves it in one version of its group: its plural name and its scope.
// Subresources are left out.
//
// Why it is so: a member is not trusted. Client-go's discovery client and controller-runtime's REST mapper decode every
// answer of a member, and the mapper keeps all of it: 16 versions of 1.2 MiB became 1.3 GiB. Here every call has a
// deadline. The numbers of groups, versions and resources are bounded, and every name that can become part of a path is
// a DNS name.
package discovery
