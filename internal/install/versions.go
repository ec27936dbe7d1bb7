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
	//
	// A member whose collector is newer than the host is named too, if the two versions are too far apart.
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
	// CollectorVersion is the version that the member's collector reports; "" if it has reported none.
	CollectorVersion string `json:"collectorVersion,omitempty"`
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
		one := MemberVersion{Name: m.Name, KubernetesVersion: clean(m.Status.KubernetesVersion), Collector: m.Spec.Collector,
			CollectorVersion: clean(m.Status.CollectorVersion)}
		if c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionMemberOutdated); c != nil && c.Status == metav1.ConditionTrue {
			one.Outdated = clean(c.Message)
		}
		v.Members = append(v.Members, one)
	}
	v.Warnings = v.skew()
	return v, nil
}

// skew returns a warning if the versions of hostctl and the host are too far apart, a warning for each outdated member, and one for
// each other member whose collector and the host are too far apart.
func (v *Versions) skew() (warnings []string) {
	host := ""
	if v.Host != nil {
		host = v.Host.Version
	}
	switch order, far := farApart(v.Client, host); {
	case far && order < 0:
		warnings = append(warnings, fmt.Sprintf("this hostctl, %s, is older than the host, %s: use a hostctl of the host's version", v.Client, host))
	case far:
		warnings = append(warnings, fmt.Sprintf("the host, %s, is older than this hostctl, %s: upgrade it with the tool that installed it: `hostctl init`, Helm or kustomize", host, v.Client))
	}
	for _, m := range v.Members {
		if m.Outdated != "" {
			warnings = append(warnings, fmt.Sprintf("member %s: %s", m.Name, m.Outdated))
		}
		switch order, far := farApart(m.CollectorVersion, host); {
		case !far || m.Collector == v1alpha1.CollectorHost: // the host runs that collector
		case order > 0:
			warnings = append(warnings, fmt.Sprintf("member %s: its collector, %s, is newer than the host, %s: upgrade the host", m.Name, m.CollectorVersion, host))
		case m.Outdated == "": // otherwise the warning above says that the collector is older
			warnings = append(warnings, fmt.Sprintf("member %s: its collector, %s, is older than the host, %s: run `hostctl join %s --cluster-kubeconfig FILE` again, "+
				"or start the External collector of the host's version", m.Name, m.CollectorVersion, host, m.Name))
		}
	}
	return warnings
}

// farApart reports whether two versions are too far apart, and their order as version.Compare returns it. Two releases may differ by
// one minor version. A build that is not a release has no minor version, so both must then be of the same commit. Versions without
// an order are not too far apart.
func farApart(a, b string) (order int, far bool) {
	order, err := version.Compare(a, b)
	if err != nil || order == 0 {
		return 0, false
	}
	minors, ok := version.MinorsApart(a, b)
	return order, !ok || minors > 1
}
