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

// None as the only value of --image-pull-secret or --toleration removes the pull secrets or the tolerations of earlier
// joins.
const None = "none"

// Given are the settings that the user gave to a join. If a setting is empty, the join keeps the value of an earlier
// join. In a first join, an empty image means the image that belongs to the host's manager, and empty pull secrets mean
// the manager's pull secrets.
type Given struct {
	// Image is REPOSITORY[:TAG][@DIGEST]. Without tag and digest it gets the tag of the manager's image. The value
	// ImageOfHost means that the join derives the image from the manager's image, even if an earlier join was given an
	// image.
	Image string
	// Registry is HOST[:PORT][/PREFIX]. The member pulls the image `collector` from this registry, with the tag of the
	// manager's image.
	Registry string
	// PullSecrets are names of Secrets in fairlead-system. The join copies these Secrets from the host to the member. If the
	// member has a Secret of such a name that no join created, the join leaves it as it is, and the collector uses it.
	PullSecrets []string
	// Tolerations are KEY[=VALUE][:EFFECT], or :EFFECT for every taint of an effect.
	Tolerations []string
}

// IsZero reports whether the user gave no setting.
func (g Given) IsZero() bool {
	return g.Image == "" && g.Registry == "" && len(g.PullSecrets) == 0 && len(g.Tolerations) == 0
}

// Validate returns an error if a setting is invalid, or if two settings contradict each other. It reads neither the host nor the member.
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
			return fmt.Errorf("--image-pull-secret: %q is not a valid name of a Secret: %s", name, msgs[0])
		}
	}
	_, err := parseTolerations(g.Tolerations)
	return err
}

// Settings has the final value of each setting of a collector on a member: the values that the user gave, completed by
// Settle. Deployment makes the collector's Deployment from it.
type Settings struct {
	// ClusterName is the member's name.
	ClusterName string
	Image       string
	PullPolicy  corev1.PullPolicy
	PullSecrets []string
	// FromHost lists the PullSecrets that a join copies from the host. Only the flags of the join and the manager's
	// Deployment can name these. A name that is only in the collector's Deployment on the member is not enough, because a
	// user of the member may have put the name there to get a Secret of the host.
	FromHost    []string
	Tolerations []corev1.Toleration

	annotations map[string]string
}

// Settle completes the settings that the user gave. It takes a missing setting from the collector's Deployment of an
// earlier join (present), or else from the manager's Deployment on the host. Each of the two Deployments may be nil.
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

// parseTolerations reads tolerations in the form in which kubectl writes taints: KEY=VALUE:EFFECT.
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
			return nil, fmt.Errorf("--toleration %s: the effect has to be NoSchedule, PreferNoSchedule or NoExecute", text)
		case t.Key == "" && (t.Operator == corev1.TolerationOpEqual || t.Effect == ""):
			return nil, fmt.Errorf("--toleration %q: write KEY, KEY=VALUE, KEY:EFFECT, KEY=VALUE:EFFECT, or :EFFECT for every taint of an effect", text)
		case t.Key != "" && len(validation.IsQualifiedName(t.Key)) > 0:
			return nil, fmt.Errorf("--toleration %s: %q is not a valid key of a taint", text, t.Key)
		case len(validation.IsValidLabelValue(t.Value)) > 0:
			return nil, fmt.Errorf("--toleration %s: %q is not a valid value of a taint", text, t.Value)
		}
		all = append(all, t)
	}
	return all, nil
}
