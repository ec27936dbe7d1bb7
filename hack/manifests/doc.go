// SPDX-License-Identifier: Apache-2.0

// Command manifests renders the objects that Fairlead's installation needs on a host. It checks that both ways to install Fairlead
// give the same objects: config/default with kustomize, and charts/fairlead with Helm.
//
//	manifests check                          compare, in each of the variants; print every difference
//	manifests copy                           write the templates of the chart that are copies of files in config/
//	manifests render kustomize|helm [VARIANT]  print the objects of one variant, by kustomize or Helm
//	manifests render helm FILE.yaml          print the objects of the chart with the values of a file
//	manifests package VERSION DIR            package the chart into DIR, for a release
//
// A *variant* is a choice that both ways offer: "default", "cert-manager" (cert-manager issues the certificate) and "monitoring" (with
// the ServiceMonitor and the PrometheusRule).
//
// CRDs, roles and webhooks exist once, in config/. The chart has copies of them, which this program writes. The Deployment and the
// objects beside it depend on values. So their templates are written by hand, and the check shows when they differ. The check uses the
// libraries of Helm and kustomize, so it needs neither a program nor a network.
package main
