// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// PlaceholderRepository is the default of image.repository. No registry has it.
const PlaceholderRepository = "registry.example.com/fairlead/manager"

// Values are the settings of an installation.
type Values struct {
	Global           map[string]any                `json:"global,omitempty"` // Helm adds it to a subchart; nothing reads it
	Image            Image                         `json:"image"`
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets"`
	// CreateNamespace set to false leaves the namespace, which has to be there, and its labels alone.
	CreateNamespace bool      `json:"createNamespace"`
	Replicas        int32     `json:"replicas"`
	Resources       Resources `json:"resources"`
	// GoMemoryLimit is GOMEMLIMIT of the manager; empty sets none.
	GoMemoryLimit string `json:"goMemoryLimit"`
	// Env are more environment variables of the manager.
	Env []corev1.EnvVar `json:"env"`
	// PodUser is the user and group of the manager's pods; nil leaves them to the cluster.
	PodUser        *int64              `json:"podUser,omitempty"`
	NodeSelector   map[string]string   `json:"nodeSelector"`
	Tolerations    []corev1.Toleration `json:"tolerations"`
	Affinity       corev1.Affinity     `json:"affinity"`
	PriorityClass  PriorityClass       `json:"priorityClass"`
	NetworkPolicy  Switch              `json:"networkPolicy"`
	CertManager    Switch              `json:"certManager"`
	ServiceMonitor ServiceMonitor      `json:"serviceMonitor"`
	// LogLevel is debug, info, error, or a number.
	LogLevel  intstr.IntOrString `json:"logLevel"`
	ExtraArgs []string           `json:"extraArgs"`
}

// Image is the image of the manager. Digest wins over Tag; with neither, the tag is that of the version that is installed.
type Image struct {
	Repository string            `json:"repository"`
	Tag        string            `json:"tag"`
	Digest     string            `json:"digest"`
	PullPolicy corev1.PullPolicy `json:"pullPolicy"`
}

// Resources are the requests and limits of the manager's container.
type Resources struct {
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`
}

// PriorityClass is created if Create is set. Otherwise Name is the name of an existing PriorityClass, or empty for none.
type PriorityClass struct {
	Create bool   `json:"create"`
	Name   string `json:"name"`
}

// Switch turns a part of the installation on.
type Switch struct {
	Enabled bool `json:"enabled"`
}

// ServiceMonitor is made if Enabled is set, with Labels by which a Prometheus selects it.
type ServiceMonitor struct {
	Enabled bool              `json:"enabled"`
	Labels  map[string]string `json:"labels"`
}

// Default returns the values of an installation without settings.
func Default() Values {
	return Values{
		Image:            Image{Repository: PlaceholderRepository, PullPolicy: corev1.PullIfNotPresent},
		ImagePullSecrets: []corev1.LocalObjectReference{},
		CreateNamespace:  true,
		Replicas:         2,
		Resources: Resources{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
		GoMemoryLimit:  "900MiB",
		Env:            []corev1.EnvVar{},
		PodUser:        ptr.To(int64(65532)),
		NodeSelector:   map[string]string{},
		Tolerations:    []corev1.Toleration{},
		PriorityClass:  PriorityClass{Create: true, Name: "fairlead-manager"},
		NetworkPolicy:  Switch{Enabled: true},
		ServiceMonitor: ServiceMonitor{Labels: map[string]string{}},
		LogLevel:       intstr.FromString("info"),
		ExtraArgs:      []string{},
	}
}

// Parse reads values from YAML, as a file for Helm has them. A value that is left out has its default. As with Helm, mappings are
// merged, lists are replaced, and null removes what a default has. The error names every value that is wrong.
func Parse(text []byte) (Values, error) {
	content, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return Values{}, fmt.Errorf("it is not YAML: %w", err)
	}
	var given any
	if err := json.Unmarshal(content, &given); err != nil {
		return Values{}, fmt.Errorf("it is not YAML: %w", err)
	}
	top, ok := given.(map[string]any)
	if !ok && given != nil {
		return Values{}, errors.New("it holds no values: a file of values is a mapping, as in `replicas: 2`")
	}
	defaults, err := asMap(Default())
	if err != nil {
		return Values{}, err
	}
	all := merge(defaults, top)
	if err := checkAmounts(all); err != nil {
		return Values{}, err
	}
	merged, err := json.Marshal(all)
	if err != nil {
		return Values{}, fmt.Errorf("merging values: %w", err)
	}
	var v Values
	unknown, err := kjson.UnmarshalStrict(merged, &v)
	if err != nil {
		return Values{}, typeError(err)
	}
	for i, one := range unknown {
		unknown[i] = errors.New(strings.Replace(one.Error(), "unknown field", "there is no value", 1))
	}
	return v, errors.Join(append(unknown, v.Check())...)
}

// checkAmounts returns an error for an amount of a resource that Kubernetes cannot parse. The decoder would not name the field.
func checkAmounts(all map[string]any) error {
	resources, _ := all["resources"].(map[string]any)
	for _, part := range []string{"requests", "limits"} {
		amounts, _ := resources[part].(map[string]any)
		for name, amount := range amounts {
			if _, err := resource.ParseQuantity(fmt.Sprint(amount)); err != nil {
				return fmt.Errorf("resources.%s.%s: %q is no amount; give, for example, 500m or 1Gi", part, name, fmt.Sprint(amount))
			}
		}
	}
	return nil
}

// typeError names the value that has the wrong type. The decoder reports only the first one.
func typeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("reading values: %w", err)
	}
	expected := wrong.Type.String()
	switch {
	case strings.HasPrefix(expected, "["):
		expected = "a list"
	case strings.HasPrefix(expected, "int"):
		expected = "a whole number"
	case strings.HasPrefix(expected, "map"), strings.Contains(expected, "."):
		expected = "a mapping"
	case expected == "bool":
		expected = "true or false"
	case expected == "string":
		expected = "text (quote it)"
	}
	return fmt.Errorf("%s: got a %s, expected %s", wrong.Field, wrong.Value, expected)
}

// merge puts given over defaults, as Helm does.
func merge(defaults, given map[string]any) map[string]any {
	for key, value := range given {
		into, isMap := defaults[key].(map[string]any)
		over, overMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(defaults, key)
		case isMap && overMap:
			defaults[key] = merge(into, over)
		default:
			defaults[key] = value
		}
	}
	return defaults
}

func asMap(v any) (map[string]any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing values as JSON: %w", err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("writing values as JSON: %w", err)
	}
	return m, nil
}

// SetImage returns a file of values with the image that ref names. Everything else in it stays.
func SetImage(text []byte, ref string) ([]byte, error) {
	image, err := Default().Image.Named(ref)
	if err != nil {
		return nil, fmt.Errorf("image %w", err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		return nil, fmt.Errorf("it is not YAML: %w", err)
	}
	if values == nil { // the file says null
		values = map[string]any{}
	}
	set := map[string]any{"repository": image.Repository, "tag": image.Tag, "digest": image.Digest}
	return yaml.Marshal(merge(values, map[string]any{"image": set}))
}
