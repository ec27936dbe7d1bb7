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
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// Options are the settings of a join. If a setting is empty, the join keeps the value of an earlier join. If there was no
// earlier join, it uses the default that the comment of the field names.
type Options struct {
	// Name is the name of the MemberCluster, a DNS label. Required.
	Name string
	// Allow are the grants. The join removes grants of an earlier join that are not among them. Default: permissions.DefaultGrants.
	Allow []string
	// Namespaces is the namespace policy, which decides which namespaces of the member are open. Default: Managed.
	Namespaces v1alpha1.NamespacePolicy
	// Labels are added to the labels of the MemberCluster; its other labels stay.
	Labels map[string]string
	// Server is the URL at which the host reaches the member's API server. Default: the URL of the earlier join; in a
	// first join, the URL in the member's kubeconfig.
	Server string
	// ProxyURL is the URL of the proxy through which the host reaches the member. NoProxy means a connection without a
	// proxy. Default: the proxy of the earlier join.
	ProxyURL string
	// Collector is where the member's collector runs. Default: Member if the host's manager is a Deployment, else Host.
	Collector v1alpha1.CollectorMode
	// MemberCollector are the settings of a collector on the member, such as its image.
	MemberCollector membercollector.Given
	// HostName is the name of the host in the member's Membership. Default: the name that an earlier join of this host
	// wrote, or else DefaultHostName. At least one of the two fields is required.
	HostName, DefaultHostName string
	// TakeOver makes the join take the cluster from its present host. It has no effect if the cluster has no host, or belongs to
	// this host.
	TakeOver bool
	// Confirm asks the user before the join takes the cluster from another host, even in a dry run. If Confirm returns an
	// error, the join ends with this error. If Confirm is nil, the join does not ask.
	Confirm func(Takeover) error
	// Rotate makes the join delete the host's account and the collector's account on the member, and create them again. That
	// revokes all tokens of the two accounts.
	Rotate bool
	// DryRun lets the API servers store nothing: the join sends creates and changes as dry runs, and sends neither deletions nor requests for
	// tokens.
	DryRun bool
	// Wait is how long the join waits for the member to be Ready. With 0 it does not wait.
	Wait time.Duration
	// CollectorWait replaces Wait if the collector runs on the member, because a node must first pull the collector's
	// image. 0 means Wait.
	CollectorWait time.Duration

	// tokenMemory and patience replace memberinstall.TokenMemory and the constant patience in tests; 0 keeps the constant.
	tokenMemory time.Duration
	patience    time.Duration
}

// Validate returns an error if an option is missing or invalid. It contacts no cluster.
func (o Options) Validate() error {
	if err := CheckName(o.Name); err != nil {
		return err
	}
	if o.HostName == "" && o.DefaultHostName == "" {
		return errors.New("the name of the host is not known: give --host-name")
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
		if _, err := permissions.ParseGrants(o.Allow); err != nil {
			return fmt.Errorf("--allow: %w", err)
		}
	}
	return nil
}

// CheckName refuses a name that a MemberCluster cannot have.
func CheckName(name string) error {
	if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
		return fmt.Errorf("%q is not a valid name for a member: use lower case letters, digits and '-', begin and end with a letter or digit, 63 characters at most", name)
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
	// CollectorImage is the image of the collector; "" if the collector does not run on the member.
	CollectorImage string
	// OwnMember is true if the host has joined itself.
	OwnMember bool
	// TokenExpires is the time at which the host's token expires. It is zero in a dry run if a real join would request a
	// new token.
	TokenExpires time.Time
	// Changes is the number of steps that wrote something.
	Changes int
}
