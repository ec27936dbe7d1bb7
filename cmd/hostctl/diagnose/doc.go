// SPDX-License-Identifier: Apache-2.0

// Package diagnose implements `hostctl diagnose`: it writes what a maintainer needs to find a fault into one archive, without secrets.
//
// Words. A *part* is one kind of objects that the command reads in one place, for example the events in namespace shop. A part that
// the account may not read is listed in the index, and is no failure. The *scope* is what the command is about: one wrapper, the
// wrappers of one namespace, or the whole host.
//
// The command reads the host only. It contacts no member and no webhook, so it works while these are down. It writes nothing to
// the host.
//
// # Why it is so
//
// The archive leaves the company, so it must not hold a secret. Three rules see to that, and the tests search a whole archive for
// the secrets of federate/redact/testdata.
//   - Every text goes through federate/redact: together with the key before it, because the key tells that a value is a secret.
//   - Values of Secrets are replaced by their lengths, wherever a Secret or a patch of one can stand in a wrapper. Of the Secrets of
//     the host only names, types and names of keys are kept.
//   - What holds copies of other fields is dropped: managedFields and the annotation last-applied-configuration. Of
//     ControllerRevisions only the metadata is read.
//
// An object is read without its Go type where possible, so fields that this hostctl does not know are in the archive too.
//
// The command writes each object to the archive as soon as it has read it, so the memory that it needs is bounded by one page of a list.
// The archive gets its name only when it is complete.
package diagnose
