// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/inflight"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// The Accept headers of Fairlead's requests to members.
const (
	acceptJSON     = "application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// Conn is the connection to one member. It is safe for concurrent use. The token can be replaced. For another endpoint,
// or for other credentials, Connect makes another Conn.
type Conn struct {
	name string
	// config holds no token; bearer holds it.
	config *rest.Config
	bearer *bearer
	// collector sends the requests of a collector that runs inside the manager. It uses the transport of http.
	collector *collectorBearer
	http      *http.Client
	guard     *guard
	rest      rest.Interface
	mapper    *mapper
	// version is the API server's version, set by the first probe that reads it.
	version atomic.Pointer[string]
}

// Connect prepares a connection; it does not talk to the member yet.
func Connect(name string, config *rest.Config) (*Conn, error) {
	// Controller-runtime's client would send protobuf. All other clients accept JSON too: guard changes their Accept
	// headers.
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	token, err := newBearer(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to member %s: %w", name, err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to member %s: %w", name, err)
	}
	if client.Transport == nil { // client-go means the default transport
		client.Transport = http.DefaultTransport
	}
	token.next = client.Transport
	station := &guard{next: token, headWithin: headWithin, clock: clock.RealClock{},
		limit: inflight.New(clock.RealClock{}, inflight.Most), answers: boundedread.NewAnswers()}
	client.Transport = station
	collector := &collectorBearer{next: station, host: token.host}
	collector.token.Store(new(string))
	raw := rest.CopyConfig(config)
	raw.GroupVersion = &v1alpha1.GroupVersion
	raw.APIPath = "/apis"
	raw.NegotiatedSerializer = codecs.WithoutConversion()
	restClient, err := rest.RESTClientForConfigAndClient(raw, client)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to member %s: %w", name, err)
	}
	conn := &Conn{name: name, config: config, bearer: token, collector: collector, http: client, guard: station, rest: restClient}
	conn.mapper = newMapper(conn)
	return conn, nil
}

var codecs = serializer.NewCodecFactory(Scheme)

// Name is the name of the MemberCluster.
func (c *Conn) Name() string { return c.name }

// Limit bounds how many pushes to the member run at the same time. Each push takes one place. Probes and other single
// requests take no place, but the limit learns from their answers too.
func (c *Conn) Limit() *inflight.Limit { return c.guard.limit }

// REST sends requests to the member's API server. Use absolute paths.
func (c *Conn) REST() rest.Interface { return c.rest }

// Mapping returns how the member serves a kind: its resource, version and scope. It takes the first of versions in
// which the member serves the kind. Without versions, it takes the version that the member prefers. Name and scope of a
// built-in kind come from Kubernetes, never from the member. Mapping assumes that the member serves a built-in kind,
// until DoubtMapping is called for it. If the member does not serve the kind, the error satisfies meta.IsNoMatchError.
// If the member's answer cannot be used, the error is a *discovery.InvalidError.
func (c *Conn) Mapping(ctx context.Context, gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return c.mapper.mapping(ctx, gk, versions...)
}

// ForgetMappings makes the next Mapping of a kind that is not built in ask the member again. Its CRD may have appeared
// or changed.
func (c *Conn) ForgetMappings() { c.mapper.forget() }

// DoubtMapping does the same. It also makes the next Mapping of this kind ask the member, even for a built-in kind.
// Call it when the API server served nothing at the mapped path.
func (c *Conn) DoubtMapping(gk schema.GroupKind) { c.mapper.doubt(gk) }

// ServerVersion asks for the version of the member's API server, for example v1.36.3.
func (c *Conn) ServerVersion(ctx context.Context) (string, error) {
	answer, err := Do(ctx, c.rest.Get().AbsPath("/version"), false)
	if err != nil {
		return "", fmt.Errorf("reading the version of member %s: %w", c.name, err)
	}
	info := version.Info{}
	if err := answer.Into(&info); err != nil {
		return "", fmt.Errorf("reading the version of member %s: %w", c.name, err)
	}
	stated := plain.Version(info.GitVersion)
	c.version.Store(&stated)
	return stated, nil
}

func (c *Conn) serverVersion() string {
	if v := c.version.Load(); v != nil {
		return *v
	}
	return ""
}

// Answer is the API server's response to a request.
type Answer struct {
	// Status is the HTTP status: 201 if the object was created, 200 if it was found or changed.
	Status int
	// Body is the object, as JSON.
	Body []byte
}

// Into decodes the answer's object. An answer of another kind is an error: it would decode into an empty object. Such
// an answer comes from a server that is no Kubernetes API server, or from another path of one.
func (a Answer) Into(obj any) error {
	if err := json.Unmarshal(a.Body, obj); err != nil {
		return &unusableError{fmt.Errorf("the answer is not the expected JSON (%w). "+isItKubernetes, err)}
	}
	typed, ok := obj.(runtime.Object)
	if !ok {
		return nil
	}
	is := typed.GetObjectKind().GroupVersionKind()
	kinds, _, err := Scheme.ObjectKinds(typed)
	if err != nil || is.Kind == "" {
		return nil //nolint:nilerr // the scheme does not know the kind, so there is nothing to compare
	}
	for _, want := range kinds {
		if want.Kind == is.Kind {
			return nil
		}
	}
	return &unusableError{fmt.Errorf("the answer is a %s and not a %s. "+isItKubernetes, is.Kind, kinds[0].Kind)}
}

const isItKubernetes = "Does spec.endpoint lead to a Kubernetes API server?"

// unusableError is the error for an answer that the manager cannot use: it has another encoding, or is another object.
type unusableError struct{ err error }

func (e *unusableError) Error() string { return e.err.Error() }

func (e *unusableError) Unwrap() error { return e.err }

// RequestTimeout is how long a member may take to answer one request.
const RequestTimeout = 15 * time.Second

// Do sends a request and reads the answer. If the API server answered with an error, the error is a
// *apierrors.StatusError. Otherwise it is the error of the network.
func Do(ctx context.Context, req *rest.Request, metadataOnly bool) (Answer, error) {
	accept := acceptJSON
	if metadataOnly {
		accept = acceptMetadata
	}
	return do(ctx, req, accept)
}

func do(ctx context.Context, req *rest.Request, accept string) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var status int
	body, err := Body(req.SetHeader("Accept", accept).Do(ctx).StatusCode(&status))
	return Answer{Status: status, Body: body}, err
}

// Body is the undecoded body of a response. Its errors are those of Do.
func Body(result rest.Result) ([]byte, error) {
	body, err := result.Raw()
	if err != nil {
		// Error has the decoded Status. Raw may have only the message of the transport.
		if decoded := result.Error(); decoded != nil {
			err = decoded
		}
		return nil, err
	}
	return body, nil
}

// Path is the absolute path of an object, or of a collection when name is empty.
func Path(gvr schema.GroupVersionResource, namespace, name string) []string {
	var path []string
	if gvr.Group == "" {
		path = append(path, "/api", gvr.Version)
	} else {
		path = append(path, "/apis", gvr.Group, gvr.Version)
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	path = append(path, gvr.Resource)
	if name != "" {
		path = append(path, name)
	}
	return path
}
