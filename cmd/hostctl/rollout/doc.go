// SPDX-License-Identifier: Apache-2.0

// Package rollout is `hostctl rollout`. Its commands show the rollout of a wrapper and the wrapper's revisions, and steer both.
// Each subcommand has a file of its own.
//
// `rollout preview` calls the functions with which the manager places, renders and orders the waves, so it cannot differ from the push.
//
// Why it is so: everything is read from the wrapper's status, the MemberClusters and the ControllerRevisions on the host, and no
// member is asked. What steers a rollout is a write to the wrapper's spec or an Approval, so kubectl can do the same.
package rollout
