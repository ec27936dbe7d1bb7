// SPDX-License-Identifier: Apache-2.0

// Package install tests the objects that Fairlead installs on a host: a real API server accepts them, and the manager
// can work with them.
//
// The sandbox has no kubelet that runs containers, so no test here starts the Deployment. The manager runs in the test
// process instead, with a token of the service account that the Deployment names.
package install
