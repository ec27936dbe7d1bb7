// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var (
	repositoryForm = regexp.MustCompile(`^[^@\s]+$`)
	tagForm        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	digestForm     = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	goMemoryForm   = regexp.MustCompile(`^([0-9]+([KMGT]i)?B|)$`)
	flagForm       = regexp.MustCompile(`^--?[a-z]`)
	// ownFlags are the flags that Objects sets.
	ownFlags = regexp.MustCompile(`^--?(leader-elect|health-address|metrics-address|webhook-|zap-log-level|pod-uid|lock-file)`)
)

// Check returns an error that names every wrong value. The chart's values.schema.json refuses the same values.
func (v Values) Check() error {
	var wrong []error
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if err := v.Image.check(); err != nil {
		wrong = append(wrong, err)
	}
	for i, secret := range v.ImagePullSecrets {
		if secret.Name == "" {
			refuse("imagePullSecrets[%d].name: the name is empty; give the name of a Secret in fairlead-system", i)
		}
	}
	v.checkProcess(refuse)
	if v.PodUser != nil && *v.PodUser < 1 {
		refuse("podUser: %d is not allowed, because the manager never runs as root; give 1 or more, or null", *v.PodUser)
	}
	if v.Replicas < 0 {
		refuse("replicas: %d is not a number of pods", v.Replicas)
	}
	if v.PriorityClass.Create && v.PriorityClass.Name == "" {
		refuse("priorityClass.name: the name is empty; give the PriorityClass a name, or set priorityClass.create: false")
	}
	switch level := v.LogLevel; {
	case level.Type == intstr.Int && level.IntVal >= 1:
	case level.Type == intstr.String && (level.StrVal == "debug" || level.StrVal == "info" || level.StrVal == "error"):
	default:
		refuse("logLevel: %q is no level; give debug, info, error, or a number from 1 on", level.String())
	}
	return errors.Join(wrong...)
}

// checkProcess checks the environment and the flags of the manager's process.
func (v Values) checkProcess(refuse func(format string, args ...any)) {
	if !goMemoryForm.MatchString(v.GoMemoryLimit) {
		refuse("goMemoryLimit: %q is no number of bytes as Go writes it; give, for example, 900MiB", v.GoMemoryLimit)
	}
	for i, variable := range v.Env {
		switch variable.Name {
		case "":
			refuse("env[%d].name: the name is empty; give the name of an environment variable", i)
		case "POD_UID", "GOMEMLIMIT":
			refuse("env[%d]: take %s out; the installation sets this variable itself (goMemoryLimit)", i, variable.Name)
		}
	}
	for i, arg := range v.ExtraArgs {
		switch {
		case !flagForm.MatchString(arg):
			refuse("extraArgs[%d]: %q is no flag; give, for example, --max-inflight-per-member=64", i, arg)
		case ownFlags.MatchString(arg):
			refuse("extraArgs[%d]: take %q out; the installation sets this flag itself", i, arg)
		}
	}
}

func (i Image) check() error {
	var wrong []error
	if !repositoryForm.MatchString(i.Repository) {
		wrong = append(wrong, fmt.Errorf("image.repository: %q is no repository; give it without tag and digest, as in registry.your.org/fairlead/manager", i.Repository))
	}
	if i.Tag != "" && !tagForm.MatchString(i.Tag) {
		wrong = append(wrong, fmt.Errorf("image.tag: %q is no valid tag of an image", i.Tag))
	}
	if i.Digest != "" && !digestForm.MatchString(i.Digest) {
		wrong = append(wrong, fmt.Errorf("image.digest: %q is no digest; give sha256: and 64 digits from 0 to f", i.Digest))
	}
	switch i.PullPolicy {
	case corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		wrong = append(wrong, fmt.Errorf("image.pullPolicy: %q is no policy; give Always, IfNotPresent or Never", i.PullPolicy))
	}
	return errors.Join(wrong...)
}

// Named returns the image that ref names, as in registry.your.org/fairlead/manager:v1@sha256:…. The pull policy stays.
func (i Image) Named(ref string) (Image, error) {
	i.Tag, i.Digest = "", ""
	i.Repository, i.Digest, _ = strings.Cut(ref, "@")
	if colon := strings.LastIndex(i.Repository, ":"); colon > strings.LastIndex(i.Repository, "/") {
		i.Repository, i.Tag = i.Repository[:colon], i.Repository[colon+1:]
		if i.Tag == "" {
			return i, fmt.Errorf("%q: the tag after the colon is missing", ref)
		}
	}
	if strings.HasSuffix(ref, "@") {
		return i, fmt.Errorf("%q: the digest after the @ is missing", ref)
	}
	if err := i.check(); err != nil {
		return i, fmt.Errorf("%q: %w", ref, err)
	}
	return i, nil
}

// Reference is the image as a container has it. tag is that of an image with neither tag nor digest.
func (i Image) Reference(tag string) string {
	switch {
	case i.Digest != "":
		return i.Repository + "@" + i.Digest
	case i.Tag != "":
		return i.Repository + ":" + i.Tag
	}
	return i.Repository + ":" + tag
}

// Tag is a version as the tag of an image, which has no plus sign. `make images` tags with the same.
func Tag(version string) string { return strings.ReplaceAll(version, "+", "-") }
