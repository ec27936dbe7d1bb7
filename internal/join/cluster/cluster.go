// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubeversion "k8s.io/apimachinery/pkg/version"
	discoveryclient "k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/redirect"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// FieldManager is the field manager of hostctl's writes.
const FieldManager = "hostctl"

// RequestTimeout bounds each request, so that a join or an installation does not wait for a cluster that hangs.
const RequestTimeout = 20 * time.Second

// PollEvery is the time between two reads while a join waits for a change on a cluster.
const PollEvery = 200 * time.Millisecond

// Scheme has the kinds that a join and an installation read and write.
var Scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}()

// Cluster is the connection to one cluster.
type Cluster struct {
	Client client.Client
	// Config is the configuration of Client.
	Config *rest.Config
	// Name is the cluster's name in messages: "member eu-1", "the host".
	Name string
	// DryRun makes creates and changes dry runs. Deletions are then not sent.
	DryRun bool
}

// Connect returns the connection to a cluster. Its client bounds the time of each request, and follows no redirects.
func Connect(cfg *rest.Config, name string, dryRun bool) (Cluster, error) {
	cfg = Bounded(cfg)
	c, err := client.New(cfg, client.Options{Scheme: Scheme})
	if err != nil {
		if told := Explain(err, name, cfg.Host); told != err { //nolint:errorlint // Explain returns the same error if it has nothing to add
			return Cluster{}, fmt.Errorf("connecting to %s: %w", name, told)
		}
		return Cluster{}, fmt.Errorf("connecting to %s at %s: its kubeconfig is not usable. Check server, certificate-authority and the user's certificate in it: %w", name, cfg.Host, err)
	}
	return Cluster{Client: c, Config: cfg, Name: name, DryRun: dryRun}, nil
}

// Bounded copies a configuration, and sets a timeout for its requests. Clients of the copy follow no redirects, and do not
// print the warnings of API servers, which would not help the user.
func Bounded(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(redirect.Refuse)
	if cfg.Timeout == 0 {
		cfg.Timeout = RequestTimeout
	}
	cfg.WarningHandler = rest.NoWarnings{}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "hostctl/" + version.String()
	}
	return cfg
}

// WithToken returns a client that uses a token of an account. The client connects to the address in the user's
// kubeconfig, because the address that the host will use is perhaps not reachable from this machine. account is the
// account's name, for the error.
func (c Cluster) WithToken(token, account string) (client.Client, error) {
	cfg := rest.AnonymousClientConfig(c.Config)
	cfg.BearerToken = token
	cfg.Wrap(redirect.Refuse)
	as, err := client.New(cfg, client.Options{Scheme: Scheme, Mapper: c.Client.RESTMapper()})
	if err != nil {
		return as, fmt.Errorf("connecting to %s as %s: %w", c.Name, account, err)
	}
	return as, nil
}

// Version returns the version of the cluster's API server.
func Version(cfg *rest.Config) (*kubeversion.Info, error) {
	d, err := discoveryclient.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	info, err := d.ServerVersion()
	if err != nil {
		return info, fmt.Errorf("asking for the version: %w", err)
	}
	return info, nil
}

// Identity returns the uid that identifies a cluster: the uid of the cluster's kube-system namespace.
func Identity(ctx context.Context, c client.Client) (types.UID, error) {
	ns := &corev1.Namespace{}
	if err := c.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, ns); err != nil {
		return "", fmt.Errorf("reading the namespace kube-system: %w", err)
	}
	return ns.UID, nil
}

// Pair is the host and the member of one join. It is not the pair of docs/concepts.md, which is a wrapper and a member.
// Steps reports the join's steps.
type Pair struct {
	Host, Member Cluster
	Steps        *steps.Recorder
}

// Rehearsal returns a Pair on which every write is a dry run. Its steps are not reported.
func (p Pair) Rehearsal() Pair {
	p.Host.DryRun, p.Member.DryRun, p.Steps = true, true, steps.NewRecorder(nil)
	return p
}
