// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DeploymentLabel is a label of the operator's Deployments; its value is Name. Watch selects by it.
const DeploymentLabel = "demo.fairlead.dev/operator"

// targetNamespaces is the annotation of the pod template in which OLM writes the namespaces of the OperatorGroup.
const targetNamespaces = "olm.targetNamespaces"

// Instance describes the process for one Deployment of the operator on a member. Equal instances have the same process.
type Instance struct {
	Namespace      string // the Deployment's
	Deployment     string
	UID            types.UID // of the Deployment: a new Deployment of the same name is another instance
	Version        string    // the version in its image
	ServiceAccount string
	WatchNamespace string // the namespace to serve; empty is every one
	Kubeconfig     string // a kubeconfig of ServiceAccount, valid as long as the instance exists
}

// Key names the instance among those of its member, as NAMESPACE/DEPLOYMENT.
func (i Instance) Key() string { return i.Namespace + "/" + i.Deployment }

// verdict is the action that follows from a Deployment's state.
type verdict string

const (
	run  verdict = "run"  // rolled out: its instance must run
	keep verdict = "keep" // rolling out: the previous process stays
	end  verdict = "end"  // no pod is ready: no process runs
)

// judge returns the verdict on a Deployment. It returns an error for a Deployment that is rolled out but fits no
// release.
func judge(d *appsv1.Deployment) (verdict, Instance, error) {
	replicas := int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	switch {
	case d.DeletionTimestamp != nil, replicas == 0:
		return end, Instance{}, nil
	case d.Status.ObservedGeneration < d.Generation:
		return keep, Instance{}, nil // its status is about an earlier template
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
		watch = d.Namespace // OLM did not make this Deployment, so the operator watches the smallest scope
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

// imageVersion returns the release in the Deployment's image. The image decides, not a label, because a pod runs the image.
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
