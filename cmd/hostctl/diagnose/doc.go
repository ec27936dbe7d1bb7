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
// The archive leaves the company, so it must not hold a secret. Three rules ensure this, and the tests search a whole archive for
// the secrets of federate/redact/testdata.
//   - Every text goes through federate/redact, together with the name of its field: the name can tell that the text is a secret.
//   - The archive has the lengths of the values of a Secret in place of the values, wherever a wrapper can have a Secret or a patch
//     of one. Of the Secrets of the host, it has only the names, the types and the names of the keys.
//   - The archive leaves out the two places with copies of other fields: managedFields and the annotation
//     last-applied-configuration. Of ControllerRevisions the command reads only the metadata.
//
// An object is read without its Go type where possible, so fields that this hostctl does not know are in the archive too.
//
// The command writes each object to the archive as soon as it has read it, so the memory that it needs is bounded by one page of a list.
// The archive gets its name only when it is complete.
package diagnose
