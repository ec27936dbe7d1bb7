// SPDX-License-Identifier: Apache-2.0

// Package versions is `hostctl version`: it shows the versions of hostctl, the host and the members, and warns if they are too far apart.
// Package internal/install reads the versions and compares them.
package versions
