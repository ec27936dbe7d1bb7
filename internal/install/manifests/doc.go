// SPDX-License-Identifier: Apache-2.0

// Package manifests has the objects of the host part, as hostctl installs them. It is pure: values in, objects out.
//
// *Values* are the settings of an installation. They have the names and the meaning of the chart's values.yaml, so that one file
// serves both. One default differs: hostctl makes the namespace unless createNamespace is false, because it stores no release there.
//
// Why it is so: the objects come from the files in config/, which are embedded in hostctl, and Objects applies the values to them. The
// chart has templates of its own for the same purpose. A test renders both with the same values and compares them object by object.
package manifests
