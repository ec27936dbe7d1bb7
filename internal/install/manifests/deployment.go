// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// configureManager applies the values to the manager's Deployment.
func (v Values) configureManager(obj *unstructured.Unstructured, tag string) error {
	pod, container, err := podOf(obj)
	if err != nil {
		return err
	}
	container["image"], container["imagePullPolicy"] = v.Image.Reference(tag), string(v.Image.PullPolicy)
	address := "127.0.0.1:8080"
	if v.ServiceMonitor.Enabled {
		address = ":8080"
		ports, _ := container["ports"].([]any)
		container["ports"] = append(ports, map[string]any{"name": "metrics", "containerPort": int64(8080), "protocol": "TCP"})
	}
	args, _ := container["args"].([]any)
	for flag, value := range map[string]string{
		"--metrics-address": address, "--webhook-cert-rotate": strconv.FormatBool(!v.CertManager.Enabled), "--zap-log-level": v.LogLevel.String(),
	} {
		if err := setFlag(args, flag, value); err != nil {
			return err
		}
	}
	for _, arg := range v.ExtraArgs {
		args = append(args, arg)
	}
	container["args"] = args

	if err := v.configureEnv(container); err != nil {
		return err
	}
	security, _ := pod["securityContext"].(map[string]any)
	for _, field := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
		if delete(security, field); v.PodUser != nil {
			security[field] = *v.PodUser
		}
	}
	resources, err := asMap(v.Resources)
	if err != nil {
		return err
	}
	container["resources"] = resources
	delete(pod, "priorityClassName")
	if v.PriorityClass.Name != "" {
		pod["priorityClassName"] = v.PriorityClass.Name
	}
	scheduling, err := asMap(map[string]any{
		"imagePullSecrets": v.ImagePullSecrets, "nodeSelector": v.NodeSelector, "tolerations": v.Tolerations, "affinity": v.Affinity,
	})
	if err != nil {
		return err
	}
	for field, value := range scheduling {
		if !isEmpty(value) {
			pod[field] = whole(value)
		}
	}
	return unstructured.SetNestedField(obj.Object, int64(v.Replicas), "spec", "replicas")
}

func (v Values) configureEnv(container map[string]any) error {
	more, err := asMap(map[string]any{"env": v.Env})
	if err != nil {
		return err
	}
	env, _ := container["env"].([]any)
	env = slices.DeleteFunc(env, func(one any) bool { return one.(map[string]any)["name"] == "GOMEMLIMIT" }) //nolint:forcetypeassert // in config/manager every entry of env is a map
	if v.GoMemoryLimit != "" {
		env = append(env, map[string]any{"name": "GOMEMLIMIT", "value": v.GoMemoryLimit})
	}
	given, _ := whole(more["env"]).([]any)
	container["env"] = append(env, given...)
	return nil
}

// podOf returns the pod's spec and the manager's container of a Deployment. The results are parts of the Deployment, so
// the caller can change the Deployment through them.
func podOf(obj *unstructured.Unstructured) (pod, container map[string]any, err error) {
	found, _, err := unstructured.NestedFieldNoCopy(obj.Object, "spec", "template", "spec")
	if err != nil {
		return nil, nil, err
	}
	pod, _ = found.(map[string]any)
	containers, _ := pod["containers"].([]any)
	if len(containers) == 0 {
		return nil, nil, errors.New("it has no container")
	}
	container, ok := containers[0].(map[string]any)
	if !ok {
		return nil, nil, errors.New("its first container is no object")
	}
	return pod, container, nil
}

func setFlag(args []any, flag, value string) error {
	for i := range args {
		if arg, _ := args[i].(string); strings.HasPrefix(arg, flag+"=") {
			args[i] = flag + "=" + value
			return nil
		}
	}
	return fmt.Errorf("its arguments have no %s", flag)
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return value == nil
}

// whole turns the float64 numbers of decoded JSON into int64, because numbers in a pod's spec are integers.
func whole(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case float64:
		return int64(v)
	}
	return value
}
