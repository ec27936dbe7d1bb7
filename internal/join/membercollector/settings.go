// SPDX-License-Identifier: Apache-2.0

package membercollector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// None means that there is none, when it is the only pull secret or the only toleration that is given.
const None = "none"

// Given are the settings that a join was given. An empty one stays as an earlier join left it; in a first join the image and
// the pull secrets are those of the host's manager.
type Given struct {
	// Image is REPOSITORY[:TAG][@DIGEST]. Without tag and digest it gets the tag of the manager's image. The value
	// ImageOfHost drops the image that an earlier join was given: the collector's image is the manager's again.
	Image string
	// Registry is HOST[:PORT][/PREFIX] that holds the image `collector` with the tag of the manager's image.
	Registry string
	// PullSecrets are Secrets in fairlead-system of the host, which join copies to the member, or of the member.
	PullSecrets []string
	// Tolerations are KEY[=VALUE][:EFFECT], or :EFFECT for every taint of an effect.
	Tolerations []string
}

// IsZero reports whether a join was given no setting.
func (g Given) IsZero() bool {
	return g.Image == "" && g.Registry == "" && len(g.PullSecrets) == 0 && len(g.Tolerations) == 0
}

// Validate checks the settings alone, without the host or the member.
func (g Given) Validate() error {
	if g.Image != "" && g.Registry != "" {
		return fmt.Errorf("--image %s and --image-registry %s: give one of them", g.Image, g.Registry)
	}
	if err := CheckImage(g.Image); err != nil {
		return fmt.Errorf("--image: %w", err)
	}
	if err := CheckRegistry(g.Registry); err != nil {
		return fmt.Errorf("--image-registry: %w", err)
	}
	for _, name := range g.PullSecrets {
		if msgs := validation.IsDNS1123Subdomain(name); len(msgs) > 0 {
			return fmt.Errorf("--image-pull-secret: %q is no name of a Secret: %s", name, msgs[0])
		}
	}
	_, err := parseTolerations(g.Tolerations)
	return err
}

// Settings are what the Deployment of a collector is made from.
type Settings struct {
	// ClusterName is the member's name.
	ClusterName string
	Image       string
	PullPolicy  corev1.PullPolicy
	PullSecrets []string
	// FromHost are those of PullSecrets that a join copies from the host, because the flags of the join or the Deployment of the
	// host's manager name them. Only the collector's Deployment on the member names the others, and the member's tenants may have
	// written that.
	FromHost    []string
	Tolerations []corev1.Toleration

	annotations map[string]string
}

// Settle fills the settings that a join was not given: from the Deployment of an earlier join, else from the host's manager. Both
// may be nil.
func Settle(clusterName string, given Given, manager, present *appsv1.Deployment) (Settings, error) {
	s := Settings{ClusterName: clusterName}
	chosen, err := chooseImage(manager, given, present)
	if err != nil {
		return s, err
	}
	s.Image, s.annotations = chosen.image, chosen.annotations
	s.PullPolicy = cmp.Or(containerOf(manager, managerContainer).ImagePullPolicy, containerOf(present, container).ImagePullPolicy, corev1.PullIfNotPresent)
	if s.Tolerations, err = parseTolerations(given.Tolerations); err != nil {
		return s, err
	}
	if len(given.Tolerations) == 0 && present != nil {
		s.Tolerations = slices.DeleteFunc(slices.Clone(present.Spec.Template.Spec.Tolerations), isOurs)
	}
	switch {
	case slices.Equal(given.PullSecrets, []string{None}):
	case len(given.PullSecrets) > 0:
		s.PullSecrets = given.PullSecrets
	case present != nil:
		s.PullSecrets = secretNames(present)
	case manager != nil:
		s.PullSecrets = secretNames(manager)
	}
	trusted := given.PullSecrets
	if manager != nil {
		trusted = append(secretNames(manager), trusted...)
	}
	for _, name := range s.PullSecrets {
		if slices.Contains(trusted, name) {
			s.FromHost = append(s.FromHost, name)
		}
	}
	return s, nil
}

func secretNames(d *appsv1.Deployment) []string {
	var names []string
	for _, ref := range d.Spec.Template.Spec.ImagePullSecrets {
		names = append(names, ref.Name)
	}
	return names
}

// parseTolerations reads tolerations as kubectl writes taints.
func parseTolerations(texts []string) ([]corev1.Toleration, error) {
	if slices.Equal(texts, []string{None}) {
		return nil, nil
	}
	var all []corev1.Toleration
	for _, text := range texts {
		t := corev1.Toleration{Operator: corev1.TolerationOpExists}
		key, effect, _ := strings.Cut(text, ":")
		t.Effect = corev1.TaintEffect(effect)
		if k, value, has := strings.Cut(key, "="); has {
			t.Key, t.Value, t.Operator = k, value, corev1.TolerationOpEqual
		} else {
			t.Key = key
		}
		effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
		switch {
		case !slices.Contains(effects, t.Effect):
			return nil, fmt.Errorf("--toleration %s: the effect is NoSchedule, PreferNoSchedule or NoExecute", text)
		case t.Key == "" && (t.Operator == corev1.TolerationOpEqual || t.Effect == ""):
			return nil, fmt.Errorf("--toleration %q: write KEY, KEY=VALUE, KEY:EFFECT, KEY=VALUE:EFFECT, or :EFFECT for every taint of an effect", text)
		case t.Key != "" && len(validation.IsQualifiedName(t.Key)) > 0:
			return nil, fmt.Errorf("--toleration %s: %q is no key of a taint", text, t.Key)
		case len(validation.IsValidLabelValue(t.Value)) > 0:
			return nil, fmt.Errorf("--toleration %s: %q is no value of a taint", text, t.Value)
		}
		all = append(all, t)
	}
	return all, nil
}
