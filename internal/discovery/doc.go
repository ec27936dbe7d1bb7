// SPDX-License-Identifier: Apache-2.0

// Package discovery reads which API groups, versions and kinds a member serves, within limits.
//
// Words: a *resource* is a kind as the member serves it in one version of its group, with its plural name and its
// scope. This package leaves out subresources, such as deployments/scale.
//
// Why there are limits: a member is not trusted. Client-go's discovery client and controller-runtime's REST mapper decode
// everything that a member answers, and the mapper keeps it. For example, 16 versions of 1.2 MiB each took 1.3 GiB of
// memory. In this package every request has a deadline, and the numbers of groups, versions and resources are limited.
// Every name that can become part of a URL path has to be a DNS name.
package discovery
