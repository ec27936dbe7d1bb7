// SPDX-License-Identifier: Apache-2.0

// Package supervisor keeps the processes of one sandbox alive: one detached process per sandbox, which starts what it
// is told to, starts again what ends (OLM ends with 0 on purpose), and ends everything when the sandbox goes.
//
// Words. A *process* is what should run (Process); its *identity* is what does run: pid, start time and boot of the
// machine, since a pid alone is soon somebody else's. The *record* is the file in the sandbox's folder with all processes
// and their identities; only a living supervisor writes it. A cluster that is *stopped* keeps its processes in the
// record, but none of them runs.
//
// Why it is so. The command that brings a sandbox up ends, and its clusters stay, so somebody has to be their parent; one
// parent per sandbox needs no root, no service manager and no daemon for all. Requests come over a unix socket in the
// sandbox's folder: one JSON request and one answer a connection, and whoever may read the folder (its owner) may ask.
// Children die with their supervisor (the kernel sees to it), so a killed supervisor leaves nothing that serves but is not
// supervised; the next one reads the record, ends what survived all the same, and starts everything again. It all rests on
// Linux: /proc, parent-death signals, process descriptors; elsewhere a sandbox is refused with words.
package supervisor
