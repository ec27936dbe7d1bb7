// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"runtime"
	"slices"
	"strings"
)

// KubernetesVersion is the version that a built API server reports.
const KubernetesVersion = "v1.36.3"

// etcdVersion is the version of the built etcd.
const etcdVersion = "v3.6.8"

// These are the names of the programs, which are also their file names.
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

// ControlPlane returns the programs that every cluster of a sandbox runs, and kubectl.
func ControlPlane() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, Kubectl, Kwok}
}

// OLMPrograms returns the further programs that a member with OLM runs.
func OLMPrograms() []string { return []string{OLM, Catalog, CatalogServer} }

const (
	stripped  = "-s -w"
	component = " -X k8s.io/component-base/version."
	// Without these linker flags the API server would report no version, and clients that read it would fail.
	kubernetes = stripped + component + "gitVersion=" + KubernetesVersion +
		component + "gitMajor=1" + component + "gitMinor=36"
	olm = stripped + " -X github.com/operator-framework/operator-lifecycle-manager/pkg/version.OLMVersion=v0.46.0"
)

// target is a program to build: its name, the path of its main package, and the linker flags.
type target struct{ name, pkg, ldflags string }

// targets returns all programs in the order in which they are built. Programs that share many packages follow each other, so that Go compiles these
// packages once.
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

// targetsOf returns the targets with these names, in the order in which they are built.
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

// file returns the name of a program's file on this operating system.
func file(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}
