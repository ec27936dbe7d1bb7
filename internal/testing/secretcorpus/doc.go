// SPDX-License-Identifier: Apache-2.0

// Package secretcorpus reads the corpus of secrets of package federate/redact. Tests put its lines into texts of a member, and look for the
// secrets in what Fairlead writes at the host.
package secretcorpus
