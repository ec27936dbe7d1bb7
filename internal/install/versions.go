// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// Versions are the versions of hostctl, a host and its members. Its JSON is what `hostctl version -o json` prints.
type Versions struct {
	Client string `json:"client"`
	// Host is nil if it did not answer, or was not asked.
	Host    *HostVersion    `json:"host,omitempty"`
	Members []MemberVersion `json:"members,omitempty"`
	// Warnings name parts that are too old or too new.
	Warnings []string `json:"warnings,omitempty"`
}

// HostVersion is the version of the host part.
type HostVersion struct {
	// Version is the version of the last init, or else the tag of the manager's image. It is "" if neither is known.
	Version           string `json:"version,omitempty"`
	Image             string `json:"image,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion"`
}

// MemberVersion is the version of a member, as far as the host knows it.
type MemberVersion struct {
	Name              string                 `json:"name"`
	KubernetesVersion string                 `json:"kubernetesVersion,omitempty"`
	Collector         v1alpha1.CollectorMode `json:"collector"`
	// Outdated names the parts of the member that are older than the host. It is "" if there are none.
	Outdated string `json:"outdated,omitempty"`
}

// ReadVersions reads the versions of a host and its members.
func ReadVersions(ctx context.Context, cfg *rest.Config, own string) (*Versions, error) {
	v := &Versions{Client: own}
	c, err := connect(cfg)
	if err != nil {
		return v, err
	}
	found, err := c.discovery.ServerVersion()
	if err != nil {
		return v, explain(err, c.endpoint)
	}
	h, err := readHost(ctx, c)
	if err != nil {
		return v, explain(err, c.endpoint)
	}
	v.Host = &HostVersion{Version: clean(h.version()), KubernetesVersion: clean(found.GitVersion)}
	if d := h.manager(); d != nil && len(d.Spec.Template.Spec.Containers) > 0 {
		v.Host.Image = clean(d.Spec.Template.Spec.Containers[0].Image)
	}
	_, members, err := readWrappers(ctx, c)
	if err != nil {
		return v, err
	}
	for i := range members {
		m := &members[i]
		one := MemberVersion{Name: m.Name, KubernetesVersion: clean(m.Status.KubernetesVersion), Collector: m.Spec.Collector}
		if c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionMemberOutdated); c != nil && c.Status == metav1.ConditionTrue {
			one.Outdated = clean(c.Message)
		}
		v.Members = append(v.Members, one)
	}
	v.Warnings = v.skew()
	return v, nil
}

// skew names versions that are too far apart. Releases may differ by one minor version. Builds that are no release have no minor
// version: there skew names every difference.
func (v *Versions) skew() (warnings []string) {
	if v.Host != nil && v.Host.Version != "" {
		warnings = append(warnings, skewOf(v.Client, v.Host.Version)...)
	}
	for _, m := range v.Members {
		if m.Outdated != "" {
			warnings = append(warnings, fmt.Sprintf("member %s: %s", m.Name, m.Outdated))
		}
	}
	return warnings
}

func skewOf(client, host string) []string {
	order, err := version.Compare(client, host)
	if err != nil || order == 0 {
		return nil
	}
	if minors, ok := version.MinorsApart(client, host); ok && minors <= 1 {
		return nil
	}
	if order < 0 {
		return []string{fmt.Sprintf("this hostctl, %s, is older than the host, %s: use one of the host's version", client, host)}
	}
	return []string{fmt.Sprintf("the host, %s, is older than this hostctl, %s: `hostctl init` upgrades it", host, client)}
}
