// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DeploymentLabel is the label by which Watch selects the operator's Deployments. Its value is Name.
const DeploymentLabel = "demo.fairlead.dev/operator"

// targetNamespaces is an annotation of the pod template. In this annotation OLM lists the namespaces that the OperatorGroup selects.
const targetNamespaces = "olm.targetNamespaces"

// Instance has the settings of the operator's process for one Deployment. The same Instance always means the same process.
type Instance struct {
	Namespace      string // the namespace of the Deployment
	Deployment     string
	UID            types.UID // the Deployment's uid: another Deployment of the same name is another instance
	Version        string    // the version in the Deployment's image
	ServiceAccount string
	WatchNamespace string // the namespace to watch; "" means all namespaces
	Kubeconfig     string // the path of a kubeconfig that acts as ServiceAccount; it is valid as long as the instance exists
}

// Key returns NAMESPACE/DEPLOYMENT, which no other instance on the member has.
func (i Instance) Key() string { return i.Namespace + "/" + i.Deployment }

// verdict is the action that the watcher takes for a Deployment.
type verdict string

const (
	run  verdict = "run"  // it is rolled out: its instance must run
	keep verdict = "keep" // it is being rolled out: the earlier process goes on
	end  verdict = "end"  // it has no ready pod: no process may run
)

// judge returns the verdict on a Deployment. It returns an error if the Deployment is rolled out but has no image of a release, or
// has a list of several namespaces to watch.
func judge(d *appsv1.Deployment) (verdict, Instance, error) {
	replicas := int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	switch {
	case d.DeletionTimestamp != nil, replicas == 0:
		return end, Instance{}, nil
	case d.Status.ObservedGeneration < d.Generation:
		return keep, Instance{}, nil // the status is about an earlier generation
	case d.Status.ReadyReplicas == 0:
		return end, Instance{}, nil
	case d.Status.UpdatedReplicas < replicas, d.Status.Replicas > d.Status.UpdatedReplicas:
		return keep, Instance{}, nil
	}

	pod := d.Spec.Template
	version, err := imageVersion(d)
	if err != nil {
		return end, Instance{}, err
	}
	watch, told := pod.Annotations[targetNamespaces]
	if !told {
		watch = d.Namespace // OLM has not written the annotation, so it did not make this Deployment: watch the smallest scope
	}
	if strings.Contains(watch, ",") {
		return end, Instance{}, fmt.Errorf("reading Deployment %s/%s: its annotation lists the namespaces %s, but %s serves one namespace or all",
			d.Namespace, d.Name, watch, Name)
	}
	account := pod.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	return run, Instance{
		Namespace: d.Namespace, Deployment: d.Name, UID: d.UID,
		Version: version, ServiceAccount: account, WatchNamespace: watch,
	}, nil
}

// imageVersion returns the version in the tag of the Deployment's image. A label would not do: a pod runs what its image has.
func imageVersion(d *appsv1.Deployment) (string, error) {
	for _, c := range d.Spec.Template.Spec.Containers {
		version, ours := strings.CutPrefix(c.Image, Repository+":")
		if !ours {
			continue
		}
		if _, err := releaseOf(version); err != nil {
			return "", fmt.Errorf("reading the image of Deployment %s/%s: %w", d.Namespace, d.Name, err)
		}
		return version, nil
	}
	return "", fmt.Errorf("reading the image of Deployment %s/%s: no container has an image %s:VERSION", d.Namespace, d.Name, Repository)
}
