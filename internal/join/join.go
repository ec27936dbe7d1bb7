// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/redirect"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// requestTimeout bounds each request, so that a join does not wait for a cluster that hangs.
const requestTimeout = 20 * time.Second

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}()

// joiner has the state of one join. Each step fills a group of fields, which later steps read. The comment above a group
// names the step.
type joiner struct {
	opts   Options
	report Reporter
	now    func() time.Time

	// Filled by newJoiner.
	hostConfig, memberConfig *rest.Config
	host, member             writer

	// Filled by discoverHost.
	identity v1alpha1.HostIdentity
	known    *v1alpha1.MemberCluster // the host's MemberCluster; only its name is set if it does not exist
	bound    credentials.Binding     // the binding in the Secret at the host; empty if the host has no Secret

	// Filled by discoverManager: the manager's Deployment. It is nil if the manager runs outside the host cluster, or if the user
	// may not read the Deployment.
	manager *appsv1.Deployment

	// Filled by discoverMember.
	memberUID  types.UID
	version    string
	membership *v1alpha1.Membership // the member's Membership; its spec is empty if it does not exist
	address    address

	// Filled by decide.
	grants     []string
	collector  v1alpha1.CollectorMode
	namespaces v1alpha1.NamespacePolicy

	// Filled by settleCollector, for a collector on the member.
	collectorSettings membercollector.Settings
	// pullSecrets has the pull secrets of the collector that exist on the member, by name.
	pullSecrets map[string]*corev1.Secret

	// Filled by takeOver, if the cluster belongs to another host: from is that host. When takeOver has finished, the
	// Membership names this host, and from is empty again, except in a dry run.
	from v1alpha1.HostIdentity
	// taken is true once takeOver has finished.
	taken bool

	// Filled by install.
	account, collectorAccount *corev1.ServiceAccount
	roleObjects               []client.Object // the ClusterRoles

	// Filled by obtainTokens. collectorToken is the zero value if the collector does not run in the manager.
	token, collectorToken credential
	// stored is the Secret at the host that the join read before it chose the tokens; nil if there was none.
	stored       *corev1.Secret
	tokenSecrets boundSecrets
	issued       []tokenSecret // the token Secrets of the tokens that the join has requested, but not yet stored at the host

	// Filled by putMemberCluster.
	registered *v1alpha1.MemberCluster

	changes int
}

// Join makes the cluster of the connection member a member of the host, or completes and corrects an earlier join. It
// calls report for each step; report may be nil. If Join has written everything but the member does not become Ready in
// time, it returns the Result together with a *NotReadyError.
func Join(ctx context.Context, host, member *rest.Config, opts Options, report Reporter) (*Result, error) {
	p, err := newJoiner(host, member, opts, report)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{
		p.discoverHost,
		p.discoverManager,
		p.discoverMember,
		p.checkFromPod,
		p.refuseOthers,
		p.decide,
		p.settleCollector,
		p.askHost,
		p.takeOver,
		p.rotate,
		p.install,
		p.own,
		p.putCollector,
		p.exchangeTokens,
		p.putMemberCluster,
		p.confirm,
	} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("joining %s: %w", opts.Name, err)
		}
	}
	return p.result(), p.awaitReady(ctx)
}

func newJoiner(host, member *rest.Config, opts Options, report Reporter) (*joiner, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if report == nil {
		report = func(Step) {}
	}
	p := &joiner{opts: opts, report: report, now: time.Now, hostConfig: bounded(host), memberConfig: bounded(member)}
	var err error
	if p.host, err = newWriter(p.hostConfig, "the host", opts.DryRun); err != nil {
		return nil, err
	}
	p.member, err = newWriter(p.memberConfig, "member "+opts.Name, opts.DryRun)
	return p, err
}

func newWriter(cfg *rest.Config, cluster string, dry bool) (writer, error) {
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		if told := explain(err, cluster, cfg.Host); told != err { //nolint:errorlint // explain returns the same error if it has nothing to add
			return writer{}, fmt.Errorf("connecting to %s: %w", cluster, told)
		}
		return writer{}, fmt.Errorf("connecting to %s at %s: its kubeconfig is not usable. Check server, certificate-authority and the user's certificate in it: %w", cluster, cfg.Host, err)
	}
	return writer{client: c, cluster: cluster, dry: dry}, nil
}

// bounded copies a configuration, and sets a timeout for its requests. Clients of the copy follow no redirects, and do not
// print the warnings of API servers, which would not help the user.
func bounded(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(redirect.Refuse)
	if cfg.Timeout == 0 {
		cfg.Timeout = requestTimeout
	}
	cfg.WarningHandler = rest.NoWarnings{}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "hostctl/" + version.String()
	}
	return cfg
}

func (p *joiner) checked(format string, args ...any) {
	p.report(Step{Outcome: Checked, What: fmt.Sprintf(format, args...)})
}

func (p *joiner) note(format string, args ...any) {
	p.report(Step{Outcome: Noted, What: fmt.Sprintf(format, args...)})
}

// done reports a step to the user, with its outcome. If the outcome is not Unchanged, done counts the step as a change.
func (p *joiner) done(o Outcome, what, note string) {
	if o != Unchanged {
		p.changes++
	}
	p.report(Step{Outcome: o, What: what, Note: note})
}

// decide chooses grants, collector mode and namespace policy. A setting that the options leave empty gets the value of an
// earlier join, or else the default.
func (p *joiner) decide(ctx context.Context) error {
	allow := p.opts.Allow
	if len(allow) == 0 {
		allow = p.membership.Spec.Grants
	}
	if len(allow) == 0 {
		allow = DefaultGrants()
	}
	var err error
	if p.grants, err = ParseGrants(allow); err != nil {
		return fmt.Errorf("deciding on the grants: %w", err)
	}
	p.collector = cmp.Or(p.opts.Collector, p.known.Spec.Collector, p.defaultCollector())
	p.decideNamespaces()
	return p.keepFormer(ctx)
}

func (p *joiner) result() *Result {
	return &Result{
		Name: p.opts.Name, Host: p.identity, UID: p.memberUID, KubernetesVersion: p.version,
		Endpoint: p.address.endpoint, Grants: p.grants, Namespaces: p.namespaces, Collector: p.collector, CollectorImage: p.collectorSettings.Image,
		OwnMember: p.identity.UID == p.memberUID, TokenExpires: p.token.expires, Changes: p.changes,
	}
}

func list(words []string) string { return strings.Join(words, ", ") }

// joined returns a list in the form of a flag's value.
func joined(words []string) string { return strings.Join(words, ",") }
