// SPDX-License-Identifier: Apache-2.0

// Command manifests renders what is installed on a host, and checks that both ways to install it give the same objects: config/default
// with kustomize, and charts/fairlead with Helm.
//
//	manifests check                          compare, in each of the variants; print every difference
//	manifests copy                           write the templates of the chart that are copies of files in config/
//	manifests render kustomize|helm [VARIANT]  print the objects of one of them
//	manifests render helm FILE.yaml          print the objects of the chart with the values of a file
//
// A *variant* is a choice that both offer: "default", "cert-manager" with a certificate by
// cert-manager, and "monitoring" with the ServiceMonitor.
//
// Why it is so: config/ is the one source. CRDs, roles and webhooks of the chart are copies that this program writes. The Deployment
// and the objects beside it depend on values, so their templates are written by hand, and the check keeps them equal. The libraries of
// Helm and kustomize do the rendering, so the check needs no program and no network.
package main
