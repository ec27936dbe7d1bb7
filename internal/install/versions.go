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

// Versions are the versions of hostctl, a host and its members. `hostctl version -o json` prints them as JSON.
type Versions struct {
	Client string `json:"client"`
	// Host is nil if the host did not answer, or if the user asked only for the version of hostctl.
	Host    *HostVersion    `json:"host,omitempty"`
	Members []MemberVersion `json:"members,omitempty"`
	// Warnings has a text if the versions of hostctl and the host are too far apart. It also has a text for each member
	// whose collector, or whose CRDs of Fairlead, are older than the host's.
	Warnings []string `json:"warnings,omitempty"`
}

// HostVersion is the version of the host part.
type HostVersion struct {
	// Version is the version that `hostctl init` installed last, or else the tag of the manager's image. It is "" if
	// neither is known.
	Version           string `json:"version,omitempty"`
	Image             string `json:"image,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion"`
}

// MemberVersion is the version of a member, as the status of its MemberCluster shows it.
type MemberVersion struct {
	Name              string                 `json:"name"`
	KubernetesVersion string                 `json:"kubernetesVersion,omitempty"`
	Collector         v1alpha1.CollectorMode `json:"collector"`
	// Outdated names the parts of the member that are older than the host; "" if none is.
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

// skew returns a warning if the versions of hostctl and the host are too far apart, and a warning for each outdated member.
// Two releases may differ by one minor version. A build that is not a release has no minor version, so hostctl and the host
// must then have the same version.
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
		return []string{fmt.Sprintf("this hostctl, %s, is older than the host, %s: use a hostctl of the host's version", client, host)}
	}
	return []string{fmt.Sprintf("the host, %s, is older than this hostctl, %s: upgrade it with the tool that installed it: `hostctl init`, Helm or kustomize", host, client)}
}
