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

// PlaceholderRepository is the default of image.repository. No such repository exists, so the user must give another one.
const PlaceholderRepository = "registry.example.com/fairlead/manager"

// Values are the settings of an installation.
type Values struct {
	Global           map[string]any                `json:"global,omitempty"` // Helm adds this value to a subchart; Fairlead does not read it
	Image            Image                         `json:"image"`
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets"`
	// CreateNamespace makes the installation create the namespace and set its labels. If it is false, the namespace has to
	// exist, and the installation leaves its labels as they are.
	CreateNamespace bool      `json:"createNamespace"`
	Replicas        int32     `json:"replicas"`
	Resources       Resources `json:"resources"`
	// GoMemoryLimit is the value of the manager's environment variable GOMEMLIMIT, for example 900MiB. With "" the
	// variable is not set.
	GoMemoryLimit string `json:"goMemoryLimit"`
	// Env are additional environment variables of the manager.
	Env []corev1.EnvVar `json:"env"`
	// PodUser is the user id and group id of the manager's pods. If it is nil, the cluster chooses the ids.
	PodUser        *int64              `json:"podUser,omitempty"`
	NodeSelector   map[string]string   `json:"nodeSelector"`
	Tolerations    []corev1.Toleration `json:"tolerations"`
	Affinity       corev1.Affinity     `json:"affinity"`
	PriorityClass  PriorityClass       `json:"priorityClass"`
	NetworkPolicy  Switch              `json:"networkPolicy"`
	CertManager    Switch              `json:"certManager"`
	ServiceMonitor ServiceMonitor      `json:"serviceMonitor"`
	PrometheusRule PrometheusRule      `json:"prometheusRule"`
	// LogLevel is debug, info, error, or a number from 1 on.
	LogLevel  intstr.IntOrString `json:"logLevel"`
	ExtraArgs []string           `json:"extraArgs"`
}

// Image is the image of the manager.
type Image struct {
	Repository string `json:"repository"`
	// Tag is the tag of the image; "" means the tag of the version to install. If Digest is set, Tag has no effect.
	Tag string `json:"tag"`
	// Digest is sha256: and 64 hexadecimal digits; "" means that Tag selects the image.
	Digest     string            `json:"digest"`
	PullPolicy corev1.PullPolicy `json:"pullPolicy"`
}

// Resources are the requests and limits of the manager's container.
type Resources struct {
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`
}

// PriorityClass describes the PriorityClass of the manager's pods.
type PriorityClass struct {
	// Create makes the installation create the PriorityClass. If it is false, the PriorityClass has to exist.
	Create bool `json:"create"`
	// Name is the name of the PriorityClass. It may be "" only if Create is false; the pods then have no PriorityClass.
	Name string `json:"name"`
}

// Switch turns an optional part of the installation on or off.
type Switch struct {
	Enabled bool `json:"enabled"`
}

// ServiceMonitor describes the ServiceMonitor object for Prometheus.
type ServiceMonitor struct {
	// Enabled makes the installation create the ServiceMonitor.
	Enabled bool `json:"enabled"`
	// Labels are labels of the ServiceMonitor, by which a Prometheus selects it.
	Labels map[string]string `json:"labels"`
}

// PrometheusRule describes the PrometheusRule object with recording rules and alerts.
type PrometheusRule struct {
	// Enabled makes the installation create the PrometheusRule.
	Enabled bool `json:"enabled"`
	// Labels are labels of the PrometheusRule, by which a Prometheus selects it.
	Labels map[string]string `json:"labels"`
}

// Default returns the values of an installation for which the user gives no values.
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
		PrometheusRule: PrometheusRule{Labels: map[string]string{}},
		LogLevel:       intstr.FromString("info"),
		ExtraArgs:      []string{},
	}
}

// Parse reads values from YAML in the form of a Helm values file. A value that is left out gets its default. As with Helm,
// a mapping is merged with the default, a list replaces the default, and null removes the default. The error names every
// value that is wrong.
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
		return Values{}, errors.New("it holds no values: a values file is a YAML mapping, as in `replicas: 2`")
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

// checkAmounts returns an error that names the field if Kubernetes cannot parse the amount of a resource. The error of the
// JSON decoder would not name the field.
func checkAmounts(all map[string]any) error {
	resources, _ := all["resources"].(map[string]any)
	for _, part := range []string{"requests", "limits"} {
		amounts, _ := resources[part].(map[string]any)
		for name, amount := range amounts {
			if _, err := resource.ParseQuantity(fmt.Sprint(amount)); err != nil {
				return fmt.Errorf("resources.%s.%s: %q is not an amount of a resource; give, for example, 500m or 1Gi", part, name, fmt.Sprint(amount))
			}
		}
	}
	return nil
}

// typeError returns an error that names the value with the wrong type. If several values have a wrong type, the decoder reports only
// the first of them.
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
	article := "a"
	if strings.ContainsAny(wrong.Value[:1], "aeiou") { // array, object
		article = "an"
	}
	return fmt.Errorf("%s: got %s %s, expected %s", wrong.Field, article, wrong.Value, expected)
}

// merge changes defaults as Helm does, and returns defaults. A null in given deletes the key. If both values of a key are
// mappings, merge merges them. Otherwise the value in given replaces the default.
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

// SetImage sets the manager's image to ref in a values file, and returns the new content of the file. The argument text is
// the present content. The other values stay as they are.
func SetImage(text []byte, ref string) ([]byte, error) {
	image, err := Default().Image.Named(ref)
	if err != nil {
		return nil, fmt.Errorf("--image: %w", err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		return nil, fmt.Errorf("it is not YAML: %w", err)
	}
	if values == nil { // the file contains only null
		values = map[string]any{}
	}
	set := map[string]any{"repository": image.Repository, "tag": image.Tag, "digest": image.Digest}
	return yaml.Marshal(merge(values, map[string]any{"image": set}))
}
