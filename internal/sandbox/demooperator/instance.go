// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DeploymentLabel is on the operator's Deployments; its value is Name. Watch selects by it.
const DeploymentLabel = "demo.fairlead.dev/operator"

// targetNamespaces is where OLM writes, into the pod template, which namespaces the OperatorGroup makes the operator serve.
const targetNamespaces = "olm.targetNamespaces"

// Instance is one Deployment of the operator on a member, as what runs for it. Two instances that are equal are served by the
// same process.
type Instance struct {
	Namespace      string // the Deployment's
	Deployment     string
	UID            types.UID // of the Deployment: one that was made anew is another instance
	Version        string    // what its image says
	ServiceAccount string
	WatchNamespace string // the namespace to serve; empty is every one
	Kubeconfig     string // a file that speaks as ServiceAccount, for as long as the instance is there
}

// Key names the instance among those of its member, as NAMESPACE/DEPLOYMENT.
func (i Instance) Key() string { return i.Namespace + "/" + i.Deployment }

// verdict is what a Deployment's state asks for.
type verdict string

const (
	run  verdict = "run"  // rolled out: the instance that it describes has to run
	keep verdict = "keep" // rolling out: whatever ran before stays
	end  verdict = "end"  // no pod of it is ready: nothing runs
)

// judge says what a Deployment asks for. The error is of a Deployment that is rolled out but that no release can run for.
func judge(d *appsv1.Deployment) (verdict, Instance, error) {
	replicas := int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	switch {
	case d.DeletionTimestamp != nil, replicas == 0:
		return end, Instance{}, nil
	case d.Status.ObservedGeneration < d.Generation:
		return keep, Instance{}, nil // its status is of another template
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
		watch = d.Namespace // not made by OLM, or by hand: the narrowest reading
	}
	if strings.Contains(watch, ",") {
		return end, Instance{}, fmt.Errorf("reading Deployment %s/%s: it is to serve the namespaces %s, and %s serves one or all",
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

// imageVersion is the release that the Deployment's image names: the image decides what a pod runs, whatever labels say.
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
