// SPDX-License-Identifier: Apache-2.0

// Package install tests that what Fairlead installs on a host is accepted by a real API server, and is enough for the manager.
//
// Why it is so: the sandbox has no kubelet that runs containers, so no test here starts the Deployment. The manager runs in the test
// process instead, with a token of the service account that the Deployment names.
package install
