// SPDX-License-Identifier: Apache-2.0

// Package supervisor keeps the processes of one sandbox running. Each sandbox has one supervisor, a process in the background. It
// starts the processes that hostctl asks for, and starts a process again whenever it ends, also with exit code 0 (OLM does that on
// purpose). When the sandbox is taken down, the supervisor ends them all.
//
// Words:
//
//   - A *process* is the description of a program that has to run (type Process).
//   - An *identity* tells one running program from all others, by its pid, its start time and the machine's boot. A pid alone does
//     not, because the system uses it again.
//   - The *record* is a file in the sandbox's folder with all processes and the identities of their programs. Only the running
//     supervisor writes it.
//   - A *stopped* cluster has its processes in the record, but none of them runs.
//
// Why it is so:
//
//   - The command that starts a sandbox ends, and its clusters go on. So their processes need another parent. One parent for each
//     sandbox needs no root, no service manager and no daemon for all sandboxes.
//   - Requests come over a unix socket in the sandbox's folder: one JSON request and one answer per connection. Only the owner of
//     the folder can open the socket.
//   - When a supervisor dies, the kernel kills its children, so no program goes on without a supervisor. The next supervisor reads
//     the record, ends any program that nevertheless still runs, and starts everything again.
//   - This needs Linux: /proc, parent-death signals and process descriptors. On other systems hostctl refuses to start a sandbox,
//     and tells why.
package supervisor
