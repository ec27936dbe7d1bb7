// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
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

// Conn is the connection to one member. It is safe for concurrent use. The fleet can replace the token of a Conn. If the
// endpoint or the client certificate changes, the fleet makes a new Conn with Connect.
//
// Conn has more than 15 methods because it is all that other packages see of a connection. Eleven methods implement
// cluster.Cluster, as multicluster-runtime requires. Each of the others returns or calls one part of the connection: its
// name, the limit, the REST client, the mapper, or the transport that adds a token (bearer). The parts have the state and
// the locks.
type Conn struct {
	name string
	// config is the client configuration without the token, which bearer holds.
	config *rest.Config
	bearer *bearer
	// collector sends the requests of a collector inside the manager, with the collector's own token.
	collector *collectorBearer
	http      *http.Client
	guard     *guard
	rest      rest.Interface
	mapper    *mapper
	prober    *prober
}

// Connect prepares a connection. It sends no request to the member.
func Connect(name string, config *rest.Config) (*Conn, error) {
	// Without this setting, controller-runtime's client would send protobuf. Other clients may still ask for protobuf in
	// the Accept header of a request; the transport guard replaces protobuf by JSON there.
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
	if client.Transport == nil { // client-go returns nil for the default transport
		client.Transport = http.DefaultTransport
	}
	token.next = client.Transport
	station := &guard{next: token, headWithin: headWithin, clock: clock.RealClock{},
		limit: inflight.New(clock.RealClock{}, inflight.Most), answers: boundedread.NewAnswers()}
	client.Transport = station
	collector := newCollectorBearer(station, token.host)
	raw := rest.CopyConfig(config)
	raw.GroupVersion = &v1alpha1.GroupVersion
	raw.APIPath = "/apis"
	raw.NegotiatedSerializer = codecs.WithoutConversion()
	restClient, err := rest.RESTClientForConfigAndClient(raw, client)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to member %s: %w", name, err)
	}
	conn := &Conn{name: name, config: config, bearer: token, collector: collector, http: client, guard: station, rest: restClient}
	conn.mapper = newMapper(restClient)
	conn.prober = &prober{name: name, config: config, rest: restClient, guard: station, collector: collector}
	return conn, nil
}

var codecs = serializer.NewCodecFactory(answers)

// Name is the name of the MemberCluster.
func (c *Conn) Name() string { return c.name }

// Limit returns the limit of the concurrent pushes to the member. Each push takes one place. Probes and other single
// requests take no place, but the answers to all requests raise or lower the limit.
func (c *Conn) Limit() *inflight.Limit { return c.guard.limit }

// REST returns a client for requests to the member's API server. It takes absolute paths.
func (c *Conn) REST() rest.Interface { return c.rest }

// Mapping returns how the member serves a kind: its resource, version and scope. It uses the first of the given
// versions that the member serves. Without versions, it uses the version that the member prefers. The name and the
// scope of a built-in kind come from Kubernetes, never from the member. Mapping assumes that every member serves the
// built-in kinds. DoubtMapping ends that assumption for one kind.
//
// If the member does not serve the kind, the error satisfies meta.IsNoMatchError. If the manager cannot use the member's
// discovery document, the error is a *discovery.InvalidError.
func (c *Conn) Mapping(ctx context.Context, gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return c.mapper.mapping(ctx, gk, versions...)
}

// ForgetMappings drops the discovery answers of the member from the cache. The next call of Mapping for a kind that is
// not built in asks the member again. Call it when a CRD may have been created or changed.
func (c *Conn) ForgetMappings() { c.mapper.forget() }

// DoubtMapping does the same as ForgetMappings. In addition, the next call of Mapping for the kind gk asks the member even
// if gk is built in. Call it when the member answers 404 to a request to the mapped path.
func (c *Conn) DoubtMapping(gk schema.GroupKind) { c.mapper.doubt(gk) }

// ClusterUID reads the uid of the kube-system namespace, which identifies a cluster. The host's account may read that
// namespace on every member.
func (c *Conn) ClusterUID(ctx context.Context) (types.UID, error) {
	return clusterUID(ctx, c.rest, c.name)
}

// clusterUID implements Conn.ClusterUID for the member with this name.
func clusterUID(ctx context.Context, client rest.Interface, name string) (types.UID, error) {
	system := metav1.PartialObjectMetadata{}
	if err := get(ctx, client, &system, "/api/v1/namespaces", metav1.NamespaceSystem); err != nil {
		return "", fmt.Errorf("reading the namespace kube-system of member %s: %w", name, err)
	}
	return plain.UID(system.UID), nil
}

func get(ctx context.Context, client rest.Interface, into any, path ...string) error {
	answer, err := Do(ctx, client.Get().AbsPath(path...), false)
	if err != nil {
		return err
	}
	return answer.Into(into)
}

// Answer is the API server's response to a request.
type Answer struct {
	// Status is the HTTP status: 201 if the object was created, 200 if it was found or changed.
	Status int
	// Body is the object, as JSON.
	Body []byte
}

// Into decodes the answer's object into obj. If the answer has another kind than obj, Into returns an error, because
// decoding would leave obj empty. Such an answer comes from a server that is no Kubernetes API server, or from a wrong
// path. Into also returns an error if obj is of a kind whose Go type contains a resource.Quantity; use IntoFields then.
func (a Answer) Into(obj any) error {
	typed, ok := obj.(runtime.Object)
	if !ok {
		return a.decode(obj)
	}
	kinds, _, err := Scheme.ObjectKinds(typed)
	if err != nil {
		return a.decode(obj) // metadata or unstructured: any kind fits
	}
	if !answers.Recognizes(kinds[0]) {
		return fmt.Errorf("a %s has quantities, and the manager parses no quantity of a member: read its fields with IntoFields", kinds[0].Kind)
	}
	if err := a.decode(obj); err != nil {
		return err
	}
	return isKind(typed.GetObjectKind().GroupVersionKind().Kind, kinds[0].Kind)
}

// IntoFields decodes fields of the answer's object into obj. obj is a pointer to a struct that has only the fields that the
// caller needs, and no resource.Quantity. If the answer has another kind, IntoFields returns an error like Into.
func (a Answer) IntoFields(kind string, obj any) error {
	var is metav1.TypeMeta
	if err := a.decode(&is); err != nil {
		return err
	}
	if err := isKind(is.Kind, kind); err != nil {
		return err
	}
	return a.decode(obj)
}

func (a Answer) decode(obj any) error {
	if err := json.Unmarshal(a.Body, obj); err != nil {
		return &unusableError{fmt.Errorf("the answer is not the expected JSON (%w). "+isItKubernetes, err)}
	}
	return nil
}

// isKind returns an error if an answer states another kind than the wanted one. An answer without a kind passes.
func isKind(is, want string) error {
	if is == "" || is == want {
		return nil
	}
	return &unusableError{fmt.Errorf("the answer is a %s and not a %s. "+isItKubernetes, is, want)}
}

const isItKubernetes = "Does spec.endpoint lead to a Kubernetes API server?"

// unusableError tells that the manager cannot use a response, because it is not JSON or is an object of another kind.
type unusableError struct{ err error }

func (e *unusableError) Error() string { return e.err.Error() }

func (e *unusableError) Unwrap() error { return e.err }

// RequestTimeout is how long a member may take to answer one request completely.
const RequestTimeout = 15 * time.Second

// Do sends a request and reads the answer. With metadataOnly it asks only for the metadata of the object. If the API
// server answers with an error, Do returns a *apierrors.StatusError. If no answer comes, it returns the error of the
// transport.
func Do(ctx context.Context, req *rest.Request, metadataOnly bool) (Answer, error) {
	accept := acceptJSON
	if metadataOnly {
		accept = acceptMetadata
	}
	return do(ctx, req, accept)
}

func do(ctx context.Context, req *rest.Request, accept string) (Answer, error) {
	bounded, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	var status int
	body, err := Body(req.SetHeader("Accept", accept).Do(bounded).StatusCode(&status))
	return Answer{Status: status, Body: body}, unanswered(err, ctx.Err())
}

// unanswered adds to the error of a request that had no answer in time how long that was. callers is the error of the caller's context: if the
// caller has ended the request, the time of the request does not matter.
func unanswered(err, callers error) error {
	if callers == nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the API server has not answered within %s: %w", RequestTimeout, err)
	}
	return err
}

// Body returns the body of a response without decoding it. It returns the same errors as Do.
func Body(result rest.Result) ([]byte, error) {
	body, err := result.Raw()
	if err != nil {
		// result.Error returns the Status that the API server sent. The error of result.Raw may be less exact.
		if decoded := result.Error(); decoded != nil {
			err = decoded
		}
		return nil, err
	}
	return body, nil
}

// Path returns the absolute path of an object, in segments for rest.Request.AbsPath. If name is "", it is the path of
// the collection.
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
