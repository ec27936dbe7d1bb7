// SPDX-License-Identifier: Apache-2.0

// Package steps reports the steps of a join or an unjoin to the user, and counts the steps that changed an object.
package steps
