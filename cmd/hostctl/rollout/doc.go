// SPDX-License-Identifier: Apache-2.0

// Package rollout is `hostctl rollout`. Its subcommands show the rollout and the revisions of a wrapper, and steer the rollout. Each
// subcommand has its own file.
//
// `rollout preview` shows what the manager would do, because it calls the manager's own functions: it chooses the members, renders the
// objects, and divides the members into waves. Package preview does that; package revisions reads revisions and compares them.
//
// The subcommands connect to the host only, and to no member. A subcommand that steers a rollout changes the wrapper's spec or writes an
// Approval. A person can make the same change with kubectl.
package rollout
