// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/operator-framework/api/pkg/lib/version"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
)

const (
	description = "Writes a ConfigMap with a message per recipient for every Greeting, to try out installing and upgrading an operator."
	// minKubeVersion is a Kubernetes version that has what the CRD and server-side apply need. It is far older than the sandbox's version.
	minKubeVersion = "1.28.0"
	// startsAfterAnnotation tells KWOK how long a simulated pod takes to start (see the Stages in
	// internal/sandbox/cluster/manifests). A collector reads an object at most every 2 s. If a pod started faster, the
	// collector would not see an upgrade in progress.
	startsAfterAnnotation = "sandbox.fairlead.dev/starts-after"
	startsAfter           = "4s"
	// failsAnnotation makes KWOK simulate a pod that does not run as it should. Its value is the failure, for example CrashLoopBackOff.
	failsAnnotation = "sandbox.fairlead.dev/fails"
	// crashArgument makes the demo operator end with an error at its start, because the file does not exist.
	crashArgument = "--kubeconfig=/does-not-exist"
	// appLabel is the label in the Deployment's selector. It is the same in every version, because a selector cannot be changed.
	appLabel = "app.kubernetes.io/name"
)

// newCSV returns the ClusterServiceVersion of a bundle. replaces is the name of the ClusterServiceVersion that it replaces, or "".
func newCSV(bundle Bundle, replaces string) (*unstructured.Unstructured, error) {
	release, number := bundle.Version, version.OperatorVersion{}
	if err := number.UnmarshalJSON([]byte(`"` + strings.TrimPrefix(release, "v") + `"`)); err != nil {
		return nil, fmt.Errorf("reading version %s: %w", release, err)
	}
	examples, err := json.Marshal([]any{map[string]any{
		"apiVersion": demooperator.GroupVersion.String(), "kind": demooperator.Kind,
		"metadata": map[string]any{"name": "hello"},
		"spec":     map[string]any{"message": "Hello", "recipients": []string{"ada", "grace"}},
	}})
	if err != nil {
		return nil, fmt.Errorf("writing examples: %w", err)
	}
	csv := &operatorsv1alpha1.ClusterServiceVersion{
		TypeMeta: typeMeta(operatorsv1alpha1.SchemeGroupVersion.String(), operatorsv1alpha1.ClusterServiceVersionKind),
		ObjectMeta: metav1.ObjectMeta{
			Name:        bundle.csvName(release),
			Annotations: map[string]string{"capabilities": "Seamless Upgrades"},
		},
		Spec: operatorsv1alpha1.ClusterServiceVersionSpec{
			DisplayName:    "Demo operator",
			Description:    description,
			Version:        number,
			MinKubeVersion: cmp.Or(bundle.MinKubeVersion, minKubeVersion),
			Maturity:       Channel,
			Replaces:       replaces,
			Keywords:       []string{"demo"},
			Provider:       operatorsv1alpha1.AppLink{Name: "Fairlead"},
			InstallModes:   installModes(),
			InstallStrategy: operatorsv1alpha1.NamedInstallStrategy{
				StrategyName: operatorsv1alpha1.InstallStrategyNameDeployment,
				StrategySpec: operatorsv1alpha1.StrategyDetailsDeployment{
					DeploymentSpecs: []operatorsv1alpha1.StrategyDeploymentSpec{{
						Name: bundle.operator(), Label: map[string]string{appLabel: bundle.operator()}, Spec: deployment(bundle),
					}},
				},
			},
		},
	}
	if bundle.isDemo() {
		csv.Annotations["alm-examples"] = string(examples)
		csv.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{
			Name: demooperator.CRD().Name, Version: demooperator.GroupVersion.Version, Kind: demooperator.Kind,
			DisplayName: demooperator.Kind, Description: "A message to recipients, written into a ConfigMap.",
		}}
		strategy := &csv.Spec.InstallStrategy.StrategySpec
		strategy.DeploymentSpecs[0].Label[demooperator.DeploymentLabel] = demooperator.Name
		strategy.DeploymentSpecs[0].Spec.Template.Spec.ServiceAccountName = demooperator.Name
		// OLM makes Roles with these rules, or ClusterRoles if the OperatorGroup selects every namespace.
		strategy.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: demooperator.Name, Rules: demooperator.Rules()}}
	}
	return stated(csv)
}

// installModes returns the scopes that the operator supports: its own namespace, one other namespace, or all namespaces, but no list of several
// namespaces.
func installModes() []operatorsv1alpha1.InstallMode {
	return []operatorsv1alpha1.InstallMode{
		{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace, Supported: true},
		{Type: operatorsv1alpha1.InstallModeTypeSingleNamespace, Supported: true},
		{Type: operatorsv1alpha1.InstallModeTypeMultiNamespace, Supported: false},
		{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true},
	}
}

// deployment returns the spec of the operator's Deployment, as it would be with a real image.
func deployment(bundle Bundle) appsv1.DeploymentSpec {
	release, annotations := bundle.Version, map[string]string{startsAfterAnnotation: startsAfter}
	var args []string
	if bundle.Crashes {
		annotations[failsAnnotation] = "CrashLoopBackOff" // for a simulated pod
		args = []string{crashArgument}                    // for a pod that runs the program
	}
	labels := map[string]string{appLabel: bundle.operator()}
	return appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{
				Labels:      map[string]string{appLabel: bundle.operator(), "app.kubernetes.io/version": release},
				Annotations: annotations,
			},
			Spec: corev1.PodSpec{
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot:   ptr.To(true),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{
					Name:  "operator",
					Image: demooperator.Image(release),
					Args:  args,
					Env: []corev1.EnvVar{{
						Name:      "WATCH_NAMESPACE",
						ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['olm.targetNamespaces']"}},
					}},
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("40Mi"),
					}},
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: ptr.To(false),
						ReadOnlyRootFilesystem:   ptr.To(true),
						Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
				}},
			},
		},
	}
}
