// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// listening starts a server and returns its address. The server calls with(connection) for each connection, and then
// closes the connection.
func listening(t *testing.T, with func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }() // the client sees the end of the connection
				with(conn)
			}()
		}
	}()
	return "https://" + listener.Addr().String()
}

// The errors come from real servers, so their types and texts are those of the network, of crypto/tls and of client-go.
func TestTheKindOfANetworkErrorIsTheReasonAndTheMessageHasTheAddress(t *testing.T) {
	refuses := func(code int, kind, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body) // the client reports an incomplete response
		})
	}
	for name, test := range map[string]struct {
		serve  func(t *testing.T) string
		edit   func(c *rest.Config, address string)
		reason string
		words  []string
	}{
		"a server without TLS": {
			serve: func(t *testing.T) string {
				server := httptest.NewServer(http.NotFoundHandler())
				t.Cleanup(server.Close)
				return strings.Replace(server.URL, "http://", "https://", 1)
			},
			reason: v1alpha1.ReasonTLSError, words: []string{"does not speak TLS", "To use another host or port, run `hostctl join"},
		},
		"a server that speaks another protocol": {
			serve: func(t *testing.T) string {
				return listening(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n") })
			},
			reason: v1alpha1.ReasonTLSError, words: []string{"does not speak TLS"},
		},
		"a server that ends the handshake with an alert": {
			serve: func(t *testing.T) string {
				return listening(t, func(c net.Conn) {
					_, _ = c.Read(make([]byte, 4096))                 // the client's hello
					_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, 40})     // alert: fatal, handshake_failure
					_, _ = io.Copy(io.Discard, io.LimitReader(c, 64)) // until the client closes the connection
				})
			},
			reason: v1alpha1.ReasonTLSError, words: []string{"the TLS handshake with the server at", "handshake failure"},
		},
		"a server that closes connections": {
			serve:  func(t *testing.T) string { return listening(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }) },
			reason: v1alpha1.ReasonUnreachable, words: []string{"breaks before an answer comes", "EOF"},
		},
		"a server that resets connections": {
			serve: func(t *testing.T) string {
				return listening(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)); _ = c.(*net.TCPConn).SetLinger(0) })
			},
			reason: v1alpha1.ReasonUnreachable, words: []string{"breaks before an answer comes", "connection reset"},
		},
		"a load balancer without an API server": {
			serve: func(t *testing.T) string {
				return tlsServer(t, refuses(http.StatusServiceUnavailable, "text/html", "<html>no upstream</html>"))
			},
			reason: v1alpha1.ReasonUnreachable, words: []string{"answers with HTTP status 503", "a load balancer without a healthy API server"},
		},
		"an API server without its etcd": {
			serve: func(t *testing.T) string {
				return tlsServer(t, refuses(http.StatusInternalServerError, "application/json",
					`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: no leader","reason":"InternalError","code":500}`))
			},
			reason: v1alpha1.ReasonUnreachable, words: []string{"answers with an error. Look at its log", "etcdserver: no leader"},
		},
		"an API server that is too busy": {
			serve: func(t *testing.T) string {
				return tlsServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusTooManyRequests)
				}))
			},
			reason: v1alpha1.ReasonUnreachable, words: []string{"answered 'try again later' (HTTP 429)", "API Priority and Fairness", "HTTP status 429"},
		},
		"a name that the DNS does not know": {
			serve: func(*testing.T) string { return "https://east.invalid:6443" },
			edit: func(c *rest.Config, _ string) {
				c.Dial = (&net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: noDNS}}).DialContext
			},
			reason: v1alpha1.ReasonNameNotResolved, words: []string{`"east.invalid" in spec.endpoint`, "Look at the DNS"},
		},
		"a proxy that refuses to connect": {
			serve: func(*testing.T) string { return "https://east.example.com:6443" },
			edit: func(c *rest.Config, _ string) {
				proxy := httptest.NewServer(refuses(http.StatusProxyAuthRequired, "text/plain", ""))
				t.Cleanup(proxy.Close)
				at, err := url.Parse(proxy.URL)
				if err != nil {
					t.Fatal(err)
				}
				at.User = url.UserPassword("me", "hunter2")
				c.Proxy = http.ProxyURL(at)
			},
			reason: v1alpha1.ReasonUnreachable, words: []string{"through spec.proxyURL http://127.0.0.1:", "Look at the log of the proxy", "Proxy Authentication Required"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// client-go repeats some of these requests after a second.
			ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
			defer cancel()
			address := test.serve(t)
			config := &rest.Config{Host: address, BearerToken: "secret-token", QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
			if test.edit != nil {
				test.edit(config, address)
			}
			conn := connected(t, config)
			is := conn.prober.probe(ctx, thisHost, ProbeResult{}, now)
			if is.Reachable || is.Reason != v1alpha1.ReasonUnreachable || is.Failure != test.reason {
				t.Fatalf("%+v", is)
			}
			for _, words := range append(test.words, address) {
				if !strings.Contains(is.Message, words) {
					t.Errorf("%s\ndoes not say %s", is.Message, words)
				}
			}
			for _, words := range []string{"secret-token", "hunter2", "me@", "<html>"} {
				if strings.Contains(is.Message, words) {
					t.Errorf("%s\nsays %s", is.Message, words)
				}
			}
			ctx, cancel = context.WithTimeout(t.Context(), 900*time.Millisecond)
			defer cancel()
			again := conn.prober.ask(ctx, thisHost, ProbeResult{}, now.Add(time.Hour))
			if diff := cmp.Diff(is.Message, again.Message); diff != "" {
				t.Errorf("the same failure has another message in the next probe:\n%s", diff)
			}
		})
	}
}

func noDNS(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("this test asks no DNS server")
}

func tlsServer(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// The context ends after 50 ms, so the test does not have to wait for ProbeTimeout.
func TestAServerThatNeverAnswersHasReasonTimeout(t *testing.T) {
	address := listening(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	is := connected(t, &rest.Config{Host: address, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}).prober.probe(ctx, thisHost, ProbeResult{}, now)
	if is.Failure != v1alpha1.ReasonTimeout || !strings.Contains(is.Message, "the API server at "+address+" has not answered within 10s") {
		t.Errorf("%+v", is)
	}
}

// These errors need a network that a test does not have. Their types are those that package net returns.
func TestTheKindOfAnErrorThatATestCannotMake(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://east:6443/apis", Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}}
	}
	proxied := &rest.Config{Host: "https://east:6443", Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example.com:3128"})}
	for name, test := range map[string]struct {
		config *rest.Config
		err    error
		reason string
		words  string
	}{
		"no route to the host":           {err: dial(syscall.EHOSTUNREACH), reason: v1alpha1.ReasonUnreachable, words: "has no route to https://east:6443"},
		"no route to the network":        {err: dial(syscall.ENETUNREACH), reason: v1alpha1.ReasonUnreachable, words: "has no route to https://east:6443"},
		"the system's timeout":           {err: dial(syscall.ETIMEDOUT), reason: v1alpha1.ReasonTimeout, words: "has not answered"},
		"a deadline of the transport":    {err: fmt.Errorf("reading: %w", os.ErrDeadlineExceeded), reason: v1alpha1.ReasonTimeout, words: "has not answered"},
		"a name that does not exist":     {err: &net.DNSError{Err: "no such host", Name: "east", IsNotFound: true}, reason: v1alpha1.ReasonNameNotResolved, words: `knows no host "east", which is in spec.endpoint`},
		"a DNS server that is silent":    {err: &net.DNSError{Err: "i/o timeout", Name: "east", IsTimeout: true}, reason: v1alpha1.ReasonNameNotResolved, words: "does not tell the address"},
		"the name of the proxy":          {config: proxied, err: &net.DNSError{Name: "proxy.example.com", IsNotFound: true}, reason: v1alpha1.ReasonNameNotResolved, words: `"proxy.example.com", which is in spec.proxyURL`},
		"an error that nothing explains": {err: errors.New("\x1b[31mno\n" + strings.Repeat("x", 10000)), reason: v1alpha1.ReasonUnreachable, words: "the API server at https://east:6443 does not answer: no xx"},
	} {
		t.Run(name, func(t *testing.T) {
			config := test.config
			if config == nil {
				config = &rest.Config{Host: "https://east:6443"}
			}
			is := classify("east", config, test.err, now)
			if is.reason != test.reason || !strings.Contains(is.message, test.words) || len(is.message) > 800 {
				t.Errorf("%+v", is)
			}
		})
	}
}

func TestTheFirstFailureOfAnOutageStaysUntilAnotherIsSteady(t *testing.T) {
	refused, timeout, reset := failure{v1alpha1.ReasonConnectionRefused, "refused"}, failure{v1alpha1.ReasonTimeout, "timeout"}, failure{v1alpha1.ReasonUnreachable, "reset"}
	for name, test := range map[string]struct {
		found []failure // one each 10 s; the zero value is a member that answers
		want  string    // the messages of the results, without repetitions
	}{
		"one failure":                        {[]failure{refused, refused, refused}, "refused"},
		"failures that alternate":            {[]failure{refused, timeout, refused, timeout, timeout, refused, timeout, reset, timeout, refused, timeout, refused, timeout}, "refused"},
		"a failure that stays for a minute":  {[]failure{refused, timeout, timeout, timeout, timeout, timeout, timeout, timeout, timeout}, "refused timeout"},
		"a failure that stays not so long":   {[]failure{refused, timeout, timeout, timeout, timeout, timeout, timeout}, "refused"},
		"another outage":                     {[]failure{refused, {}, timeout, refused}, "refused  timeout"},
		"another text of the same failure":   {[]failure{{v1alpha1.ReasonTLSError, "a"}, {v1alpha1.ReasonTLSError, "b"}, {v1alpha1.ReasonTLSError, "c"}, {v1alpha1.ReasonTLSError, "b"}}, "a"},
		"a failure whose text never repeats": {[]failure{refused, {"E", "1"}, {"E", "2"}, {"E", "3"}, {"E", "4"}, {"E", "5"}, {"E", "6"}, {"E", "7"}, {"E", "8"}, {"E", "9"}}, "refused 7"},
	} {
		t.Run(name, func(t *testing.T) {
			is, got, writes := ProbeResult{}, []string{}, 0
			for i, f := range test.found {
				was, next := is, is
				next.Probed, next.Reachable, next.Failure, next.Message = true, f == failure{}, f.reason, f.message
				is = next.steady(is, now.Add(time.Duration(i)*10*time.Second))
				if !was.Same(is) {
					writes++
				}
				if len(got) == 0 || got[len(got)-1] != is.Message {
					got = append(got, is.Message)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" || writes != len(got) {
				t.Errorf("%d writes\n%s", writes, diff)
			}
		})
	}
}

func TestARequestWithoutAnAnswerInTimeSaysHowLongThatWas(t *testing.T) {
	late := &url.Error{Op: "Patch", URL: "https://192.0.2.1", Err: context.DeadlineExceeded}
	for name, test := range map[string]struct {
		err, callers error
		want         string
	}{
		"no answer in time":                {late, nil, "the API server has not answered within 15s: Patch \"https://192.0.2.1\": context deadline exceeded"},
		"the caller has ended the request": {late, context.DeadlineExceeded, late.Error()},
		"another error":                    {errors.New("refused"), nil, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unanswered(test.err, test.callers); got.Error() != test.want || !errors.Is(got, test.err) {
				t.Errorf("%v", got)
			}
		})
	}
	if err := unanswered(nil, nil); err != nil {
		t.Error(err)
	}
}
