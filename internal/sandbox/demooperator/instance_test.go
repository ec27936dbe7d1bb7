// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// rolledOut returns a Deployment as OLM makes it for this version, with a ready pod.
func rolledOut(version string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: Name, UID: "d-1", Generation: 2, Labels: map[string]string{DeploymentLabel: Name},
		},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{targetNamespaces: "shop"}},
			Spec: corev1.PodSpec{
				ServiceAccountName: "demo-account",
				Containers:         []corev1.Container{{Image: "example.org/sidecar:v1.0.0"}, {Image: Image(version)}},
			},
		}},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

func TestJudge(t *testing.T) {
	instance := func(changes ...func(*Instance)) Instance {
		i := Instance{Namespace: "shop", Deployment: Name, UID: "d-1", Version: "v1.1.0", ServiceAccount: "demo-account", WatchNamespace: "shop"}
		for _, change := range changes {
			change(&i)
		}
		return i
	}
	tests := map[string]struct {
		change func(*appsv1.Deployment)
		want   verdict
		of     Instance
		err    string
	}{
		"a Deployment that is rolled out runs": {change: func(*appsv1.Deployment) {}, want: run, of: instance()},
		"a Deployment for every namespace watches every namespace": {
			change: func(d *appsv1.Deployment) { d.Spec.Template.Annotations[targetNamespaces] = "" },
			want:   run, of: instance(func(i *Instance) { i.WatchNamespace = "" }),
		},
		"a Deployment that OLM did not make watches its own namespace": {
			change: func(d *appsv1.Deployment) { d.Spec.Template.Annotations = nil },
			want:   run, of: instance(),
		},
		"a Deployment without a service account uses the namespace's default account": {
			change: func(d *appsv1.Deployment) { d.Spec.Template.Spec.ServiceAccountName = "" },
			want:   run, of: instance(func(i *Instance) { i.ServiceAccount = "default" }),
		},
		"after a change of the template the previous process stays": {
			change: func(d *appsv1.Deployment) { d.Generation = 3 }, want: keep,
		},
		"while old pods exist the previous process stays": {
			change: func(d *appsv1.Deployment) { d.Status.Replicas = 2 }, want: keep,
		},
		"while new pods are missing the previous process stays": {
			change: func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](2); d.Status.Replicas = 2 }, want: keep,
		},
		"without a ready pod the process ends": {
			change: func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 0 }, want: end,
		},
		"when the Deployment is scaled to 0 the process ends at once": {
			change: func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](0); d.Generation = 3 }, want: end,
		},
		"when the Deployment is being deleted the process ends": {
			change: func(d *appsv1.Deployment) { d.DeletionTimestamp = ptr.To(metav1.Now()) }, want: end,
		},
		"a Deployment with an unknown version has no process": {
			change: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Image = Image("v7") }, want: end,
			err: `reading the image of Deployment shop/demo-operator: there is no version "v7" of demo-operator: there are v1.0.0, v1.1.0, v1.2.0`,
		},
		"a Deployment without the operator's image has no process": {
			change: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Image = "example.org/other:v1.0.0" }, want: end,
			err: `reading the image of Deployment shop/demo-operator: no container has an image example.invalid/demo-operator:VERSION`,
		},
		"a Deployment for several namespaces has no process": {
			change: func(d *appsv1.Deployment) { d.Spec.Template.Annotations[targetNamespaces] = "a,b" }, want: end,
			err: `reading Deployment shop/demo-operator: its annotation lists the namespaces a,b, but demo-operator serves one namespace or all`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, of, err := judge(rolledOut("v1.1.0", test.change))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.of, of); diff != "" {
				t.Errorf("instance (-want +got):\n%s", diff)
			}
			message := ""
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff(test.err, message); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
