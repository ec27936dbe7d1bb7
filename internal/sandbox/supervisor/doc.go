// SPDX-License-Identifier: Apache-2.0

// Package supervisor keeps the processes of one sandbox running. The supervisor is one detached process per sandbox. It
// starts the processes that hostctl asks for. It starts each again when it ends (OLM ends with 0 on purpose). It ends
// all of them when the sandbox is taken down.
//
// Words. A *process* is the description of a program that should run (Process). Its *identity* is that of the running
// program: pid, start time and boot of the machine, since the system soon reuses a pid. The *record* is the file in the
// sandbox's folder with all processes and their identities. Only a running supervisor writes it. A cluster that is
// *stopped* keeps its processes in the record, but none of them runs.
//
// Why it is so. The command that brings a sandbox up ends, but its clusters stay, so their processes need another
// parent. One parent per sandbox needs no root, no service manager and no daemon for all sandboxes. Requests come over
// a unix socket in the sandbox's folder, with one JSON request and one answer per connection. Only the folder's owner
// can open it. The kernel kills the children when their supervisor dies, so a killed supervisor leaves no program that
// runs unsupervised. The next supervisor reads the record, ends any program that survived all the same, and starts
// everything again. This needs Linux: /proc, parent-death signals and process descriptors. On other systems, hostctl
// refuses a sandbox with an error that names the reason.
package supervisor
