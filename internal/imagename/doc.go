// SPDX-License-Identifier: Apache-2.0

// Package imagename parses the names of container images: REPOSITORY[:TAG][@DIGEST].
//
// A *repository* is [HOST[:PORT]/]PATH, and a *digest* is sha256: followed by 64 hexadecimal digits. The forms are
// those of the OCI distribution specification, except that sha256 is the only algorithm.
//
// Why it is so: Kubernetes reports a wrong image name late and elsewhere, as a pod with InvalidImageName. So this
// package checks each flag, value and annotation that names an image, and its errors tell which part of the name is
// wrong. The Helm chart cannot call Go code, so its values.schema.json repeats the patterns. A test compares the two.
package imagename
