// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/internal/imagename"
)

var (
	goMemoryForm = regexp.MustCompile(`^([0-9]+([KMGT]i)?B|)$`)
	flagForm     = regexp.MustCompile(`^--?[a-z]`)
	// ownFlags matches the flags that the installation sets itself. A user must not set them in extraArgs.
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
		refuse("replicas: %d is not a number of pods; give 0 or more", v.Replicas)
	}
	if v.PriorityClass.Create && v.PriorityClass.Name == "" {
		refuse("priorityClass.name: the name is empty; give the PriorityClass a name, or set priorityClass.create: false")
	}
	switch level := v.LogLevel; {
	case level.Type == intstr.Int && level.IntVal >= 1:
	case level.Type == intstr.String && (level.StrVal == "debug" || level.StrVal == "info" || level.StrVal == "error"):
	default:
		refuse("logLevel: %q is not a log level; give debug, info, error, or a number from 1 on", level.String())
	}
	return errors.Join(wrong...)
}

// checkProcess checks the values that become environment variables or flags of the manager's process. It calls refuse for
// each wrong one.
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
	if err := imagename.CheckRepository(i.Repository); err != nil {
		wrong = append(wrong, fmt.Errorf("image.repository: %w", err))
	}
	if i.Tag != "" {
		if err := imagename.CheckTag(i.Tag); err != nil {
			wrong = append(wrong, fmt.Errorf("image.tag: %w", err))
		}
	}
	if i.Digest != "" {
		if err := imagename.CheckDigest(i.Digest); err != nil {
			wrong = append(wrong, fmt.Errorf("image.digest: %w", err))
		}
	}
	switch i.PullPolicy {
	case corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		wrong = append(wrong, fmt.Errorf("image.pullPolicy: %q is not a pull policy; give Always, IfNotPresent or Never", i.PullPolicy))
	}
	return errors.Join(wrong...)
}

// Named parses ref, for example registry.your.org/fairlead/manager:v1@sha256:…, and returns it as an Image with the pull
// policy of i.
func (i Image) Named(ref string) (Image, error) {
	name, err := imagename.Parse(ref)
	if err != nil {
		return Image{}, err
	}
	i.Repository, i.Tag, i.Digest = name.Repository, name.Tag, name.Digest
	return i, nil
}

// Reference returns the image in the form that the field image of a container needs: with the digest, or else the tag. If
// the image has neither, Reference uses the argument tag.
func (i Image) Reference(tag string) string {
	switch {
	case i.Digest != "":
		return i.Repository + "@" + i.Digest
	case i.Tag != "":
		return i.Repository + ":" + i.Tag
	}
	return i.Repository + ":" + tag
}
