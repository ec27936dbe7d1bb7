// SPDX-License-Identifier: Apache-2.0

// Package manifests renders the host part, that is, the objects that an installation creates on the host, from the values.
// It is pure: it has no client.
//
// *Values* are the settings of an installation. They have the names and the meaning of the chart's values.yaml, so one
// file works for hostctl and for the chart. Only one default differs. hostctl creates the namespace unless createNamespace
// is false. The chart does not create it by default, because Helm needs the namespace before the installation, to store
// its release there.
//
// The objects come from the files in config/, which are embedded in hostctl. Objects applies the values to them. The chart
// has its own templates of the same objects. So a test renders both with the same values and compares them object by
// object.
package manifests
