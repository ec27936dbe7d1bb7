// SPDX-License-Identifier: Apache-2.0

package binaries

import "runtime"

// KubernetesVersion is what the API servers built here say they are.
const KubernetesVersion = "v1.36.3"

// Names of the programs, as files are called.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
	OLM               = "olm"
	Catalog           = "catalog"
	CatalogServer     = "catalogserver"
)

const (
	stripped  = "-s -w"
	component = " -X k8s.io/component-base/version."
	// Without these an API server reports no version, and clients that ask for one refuse to go on.
	kubernetes = stripped + component + "gitVersion=" + KubernetesVersion +
		component + "gitMajor=1" + component + "gitMinor=36"
	olm = stripped + " -X github.com/operator-framework/operator-lifecycle-manager/pkg/version.OLMVersion=v0.46.0"
)

// target is one program: where its main package is and how it is linked.
type target struct{ name, pkg, ldflags string }

// targets are in the order in which they are built: those that share most come after one another.
func targets() []target {
	return []target{
		{Etcd, "go.etcd.io/etcd/server/v3", stripped},
		{APIServer, "k8s.io/kubernetes/cmd/kube-apiserver", kubernetes},
		{ControllerManager, "k8s.io/kubernetes/cmd/kube-controller-manager", kubernetes},
		{Scheduler, "k8s.io/kubernetes/cmd/kube-scheduler", kubernetes},
		{Kubectl, "k8s.io/kubernetes/cmd/kubectl", kubernetes},
		{Kwok, "sigs.k8s.io/kwok/cmd/kwok", stripped},
		{OLM, "github.com/operator-framework/operator-lifecycle-manager/cmd/olm", olm},
		{Catalog, "github.com/operator-framework/operator-lifecycle-manager/cmd/catalog", olm},
		{CatalogServer, "./catalogserver", stripped},
	}
}

// file is how a program's file is called on this platform.
func file(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}
