// SPDX-License-Identifier: Apache-2.0

package join

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
)

// Options are the settings of a join. An empty setting stays as an earlier join left it. In a first join it has the
// default that its field names here.
type Options struct {
	// Name is the MemberCluster's, a DNS label. Required.
	Name string
	// Allow are the grants. The join removes grants of an earlier join that are not among them. Default: DefaultGrants.
	Allow []string
	// Namespaces selects the open namespaces of the member. Default: Managed.
	Namespaces v1alpha1.NamespacePolicy
	// Labels are put on the MemberCluster; others that it carries stay.
	Labels map[string]string
	// Server is the URL by which the host reaches the member. Default: the URL of the earlier join; in a first join, the
	// URL in the member's kubeconfig.
	Server string
	// ProxyURL is the proxy by which the host reaches the member; NoProxy is none. Default: the proxy of the earlier join.
	ProxyURL string
	// Collector is where the member's collector runs. Default: Member if the host's manager is a Deployment, else Host.
	Collector v1alpha1.CollectorMode
	// MemberCollector are the settings of a collector on the member.
	MemberCollector membercollector.Given
	// HostName is the name of the host in the member's Membership. Default: the name that an earlier join of this host wrote, else
	// DefaultHostName. One of the two fields is required.
	HostName, DefaultHostName string
	// TakeOver takes the cluster from its present host. A cluster that has no host, or this one, is joined as usual.
	TakeOver bool
	// Confirm is called before the join takes anything from another host, in a dry run too. An error cancels the
	// join. Nil confirms.
	Confirm func(Takeover) error
	// Rotate makes the host's account on its member anew, and the collector's, which revokes every token of theirs.
	Rotate bool
	// DryRun writes nothing.
	DryRun bool
	// Wait is how long to wait for the member to be Ready; zero does not wait.
	Wait time.Duration
	// CollectorWait is Wait where the join installs a collector on the member, whose image has to be pulled. Default: Wait.
	CollectorWait time.Duration

	// tokenMemory and patience replace the constants of these names in tests.
	tokenMemory time.Duration
	patience    time.Duration
}

// Validate checks the options of a join before it connects to any cluster.
func (o Options) Validate() error {
	if err := CheckName(o.Name); err != nil {
		return err
	}
	if o.HostName == "" && o.DefaultHostName == "" {
		return errors.New("the host has no name: give --host-name")
	}
	for _, name := range []string{o.HostName, o.DefaultHostName} {
		if len(name) > 253 {
			return fmt.Errorf("the host's name %q is too long: 253 characters at most", name)
		}
	}
	if !slices.Contains([]v1alpha1.NamespacePolicy{"", v1alpha1.NamespacesManaged, v1alpha1.NamespacesAll}, o.Namespaces) {
		return fmt.Errorf("--namespaces %s: give %s or %s", o.Namespaces, v1alpha1.NamespacesManaged, v1alpha1.NamespacesAll)
	}
	if !slices.Contains([]v1alpha1.CollectorMode{"", v1alpha1.CollectorHost, v1alpha1.CollectorMember, v1alpha1.CollectorExternal}, o.Collector) {
		return fmt.Errorf("--collector %s: give %s, %s or %s", o.Collector, v1alpha1.CollectorMember, v1alpha1.CollectorHost, v1alpha1.CollectorExternal)
	}
	if err := o.MemberCollector.Validate(); err != nil {
		return err
	}
	for key, value := range o.Labels {
		if msgs := validation.IsQualifiedName(key); len(msgs) > 0 {
			return fmt.Errorf("label %q: %s", key, msgs[0])
		}
		if msgs := validation.IsValidLabelValue(value); len(msgs) > 0 {
			return fmt.Errorf("label %s=%q: %s", key, value, msgs[0])
		}
	}
	if len(o.Allow) > 0 {
		if _, err := ParseGrants(o.Allow); err != nil {
			return fmt.Errorf("--allow: %w", err)
		}
	}
	return nil
}

// CheckName refuses a name that a MemberCluster cannot have.
func CheckName(name string) error {
	if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
		return fmt.Errorf("%q is no name for a member: lower case letters, digits and '-', beginning and ending with a letter or digit, 63 characters at most", name)
	}
	return nil
}

// Result is the result of a join.
type Result struct {
	Name              string
	Host              v1alpha1.HostIdentity
	UID               types.UID // of the member
	KubernetesVersion string
	Endpoint          string
	Grants            []string
	Namespaces        v1alpha1.NamespacePolicy
	Collector         v1alpha1.CollectorMode
	// CollectorImage is the image of a collector on the member.
	CollectorImage string
	// OwnMember: the host has joined itself.
	OwnMember bool
	// TokenExpires is when the host's token ends, zero in a dry run that would get a new one.
	TokenExpires time.Time
	// Changes is how many steps wrote something.
	Changes int
}
