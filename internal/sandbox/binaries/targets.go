// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"runtime"
	"slices"
	"strings"
)

// KubernetesVersion is the version that the API servers built here report.
const KubernetesVersion = "v1.36.3"

// etcdVersion is the version of the etcd built here.
const etcdVersion = "v3.6.8"

// Names of the programs' files.
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

// ControlPlane returns the names of the programs that each cluster of a sandbox runs, and of kubectl.
func ControlPlane() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, Kubectl, Kwok}
}

// OLMPrograms returns the names of the programs that a member with OLM runs as well.
func OLMPrograms() []string { return []string{OLM, Catalog, CatalogServer} }

const (
	stripped  = "-s -w"
	component = " -X k8s.io/component-base/version."
	// Without these an API server reports no version, and clients that read the version fail.
	kubernetes = stripped + component + "gitVersion=" + KubernetesVersion +
		component + "gitMajor=1" + component + "gitMinor=36"
	olm = stripped + " -X github.com/operator-framework/operator-lifecycle-manager/pkg/version.OLMVersion=v0.46.0"
)

// target is a program to build: the path of its main package and its linker flags.
type target struct{ name, pkg, ldflags string }

// targets returns the programs in the order of building. Programs that share many packages follow each other.
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

// targetsOf returns the targets of the named programs, in the order of building.
func targetsOf(names []string) []target {
	return slices.DeleteFunc(targets(), func(t target) bool { return !slices.Contains(names, t.name) })
}

func namesOf(list []target) string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.name
	}
	return strings.Join(names, ", ")
}

// file returns the name of a program's file on this platform.
func file(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}
