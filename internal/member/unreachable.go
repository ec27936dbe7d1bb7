// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

const (
	// maxQuoted is the largest number of bytes that a message quotes from an error. The server at the other end may have
	// chosen the text, for example the names in its certificate.
	maxQuoted = 400
	// failureSteady is the time for which all probes of a member have to find a new failure, before it replaces the first
	// failure of the outage. It is a time and not a number of probes, because each failed request starts a probe.
	failureSteady = time.Minute
)

// failure tells why the manager cannot use a member's API server. The message names the address and the remedy. The
// message contains no password, and is the same for each probe that fails in the same way.
type failure struct {
	// reason is a reason of the condition Reachable.
	reason, message string
}

// otherFailure is a failure that differs from the first failure of an outage.
type otherFailure struct {
	// key is the reason of the failure. If the first failure has the same reason, key is the message.
	key   string
	since time.Time
}

// steady delays the change from one failure to another in the results of one outage. It compares s with last, the
// previous result. If s has a new failure, steady returns s with the failure of last. It does so until all probes have
// found the same new failure for the time failureSteady. Otherwise a member whose failures alternate, for example behind
// a load balancer, would cause a write of its status with each probe. If one of the two results is without a failure,
// steady returns s unchanged.
func (s ProbeResult) steady(last ProbeResult, now time.Time) ProbeResult {
	s.other = otherFailure{}
	if s.Failure == "" || last.Failure == "" || s.Failure == last.Failure && s.Message == last.Message {
		return s
	}
	s.other = otherFailure{key: s.Failure, since: now}
	if s.Failure == last.Failure {
		s.other.key = s.Message
	}
	if last.other.key == s.other.key {
		s.other.since = last.other.since
	}
	if now.Sub(s.other.since) >= failureSteady {
		s.other = otherFailure{}
		return s
	}
	s.Reason, s.Failure, s.Message = last.Reason, last.Failure, last.Message
	return s
}

// attempt is a failed request to a member.
type attempt struct {
	member string
	config *rest.Config
	proxy  *url.URL // nil without a proxy
	err    error
	now    time.Time
}

// classify finds out why a request to the member's API server got no usable answer. now is the host's time.
//
// The message names the field of the MemberCluster that may be the cause, because a wrong value there looks like a member
// that is down.
func classify(name string, config *rest.Config, err error, now time.Time) failure {
	// A *url.Error begins with the method and the URL. The message leaves them out, because it names the address.
	if asking := (*url.Error)(nil); errors.As(err, &asking) {
		err = asking.Err
	}
	a := &attempt{member: name, config: config, proxy: proxyOf(config), err: err, now: now}
	for _, rule := range []func() (failure, bool){a.redirected, a.answered, a.notResolved, a.certificate, a.protocol, a.timedOut, a.broken} {
		if found, applies := rule(); applies {
			return found
		}
	}
	return a.because(v1alpha1.ReasonUnreachable, "the API server at %s does not answer", a.at())
}

// at returns the address of the API server, with the proxy through which the manager reaches it.
func (a *attempt) at() string {
	at := credentials.WithoutUser(a.config.Host)
	if a.proxy != nil {
		at += " through " + a.through()
	}
	return at
}

func (a *attempt) through() string {
	return "spec.proxyURL " + credentials.WithoutUser(a.proxy.String())
}

// joinAt returns the command that gives a member another address. An edit of spec.endpoint does not help, because the credentials are
// bound to the address of the last join.
func (a *attempt) joinAt() string {
	return fmt.Sprintf("run `hostctl join %s --cluster-kubeconfig FILE --server URL` with the right URL", a.member)
}

// joinThrough returns the command that gives a member another proxy.
func (a *attempt) joinThrough() string {
	return fmt.Sprintf("run `hostctl join %s --cluster-kubeconfig FILE --proxy-url URL` with the right URL", a.member)
}

// ownAddress matches the local address of a connection in the text of a network error. Messages leave this address out,
// because it differs with each connection.
var ownAddress = regexp.MustCompile(`\S+->`)

// because makes a failure from a sentence, and quotes the error after it.
func (a *attempt) because(reason, format string, args ...any) failure {
	quoted := health.Tidy(ownAddress.ReplaceAllLiteralString(a.err.Error(), ""), maxQuoted)
	return failure{reason, fmt.Sprintf(format, args...) + ": " + quoted}
}

func (a *attempt) redirected() (failure, bool) {
	elsewhere := (*redirect.Error)(nil)
	if !errors.As(a.err, &elsewhere) {
		return failure{}, false
	}
	return failure{v1alpha1.ReasonRedirected, "spec.endpoint does not lead to an API server: " + elsewhere.Error() + ". To use another address, " + a.joinAt()}, true
}

// answered is the rule of classify for a server whose answer the manager cannot use.
func (a *attempt) answered() (failure, bool) {
	var unusable *unusableError
	var status apierrors.APIStatus
	var busy *busyError
	switch {
	case errors.As(a.err, &busy):
		return a.because(v1alpha1.ReasonUnreachable, "the API server at %s answered 'try again later' (HTTP %d) for %s: it is overloaded, or its "+
			"API Priority and Fairness limits the host's account. Look at the API server's log", a.at(), busy.status, ProbeTimeout), true
	case boundedread.IsTooLarge(a.err), errors.As(a.err, &unusable):
		return a.because(v1alpha1.ReasonUnreachable, "the manager cannot use the answer of the API server at %s", a.at()), true
	case !errors.As(a.err, &status):
		return failure{}, false
	case apierrors.IsUnexpectedServerError(a.err):
		return a.because(v1alpha1.ReasonUnreachable, "the server at %s answers with HTTP status %d, in a form that no API server uses: it may be a load balancer without "+
			"a healthy API server behind it. Look at the API servers of the member. If the address has changed, %s", a.at(), status.Status().Code, a.joinAt()), true
	}
	return a.because(v1alpha1.ReasonUnreachable, "the API server at %s answers with an error. Look at its log, and at its etcd, on the member", a.at()), true
}

func (a *attempt) notResolved() (failure, bool) {
	dns := (*net.DNSError)(nil)
	if !errors.As(a.err, &dns) {
		return failure{}, false
	}
	field, join := "spec.endpoint", a.joinAt()
	if a.proxy != nil && a.proxy.Hostname() == dns.Name {
		field, join = "spec.proxyURL", a.joinThrough()
	}
	if dns.IsTimeout || !dns.IsNotFound {
		return a.because(v1alpha1.ReasonNameNotResolved, "the manager's DNS server does not tell the address of %q in %s (%s). Look at the DNS that the manager uses, "+
			"and at the network to it", dns.Name, field, a.at()), true
	}
	return a.because(v1alpha1.ReasonNameNotResolved, "the manager's DNS knows no host %q, which is in %s (%s). Add the name to the DNS that the manager uses. "+
		"If the address has changed, %s", dns.Name, field, a.at(), join), true
}

// certificate is the rule of classify for a certificate that the manager does not accept.
func (a *attempt) certificate() (failure, bool) {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	because := func(format string, args ...any) (failure, bool) {
		return a.because(v1alpha1.ReasonTLSError, "the certificate of the API server at "+strings.ReplaceAll(a.at(), "%", "%%")+" "+format, args...), true
	}
	switch {
	case errors.As(a.err, &authority) && len(a.config.CAData) == 0:
		return because("is signed by an authority that the manager does not know, and spec.caBundle is empty. Run `hostctl join %s --cluster-kubeconfig FILE` again", a.member)
	case errors.As(a.err, &authority):
		return because("is not signed by spec.caBundle. Another cluster answers there, or its authority was renewed. "+
			"After a renewal, run `hostctl join %s --cluster-kubeconfig FILE` again. If the address has changed, %s", a.member, a.joinAt())
	case errors.As(a.err, &host) && a.config.ServerName != "":
		return because("is not for spec.tlsServerName %q. Run `hostctl join %s --cluster-kubeconfig FILE` again with a kubeconfig that has the right tls-server-name",
			a.config.ServerName, a.member)
	case errors.As(a.err, &host):
		return because("is not for the host of spec.endpoint. If the address has changed, %s. Otherwise run `hostctl join %s --cluster-kubeconfig FILE` "+
			"again with a kubeconfig that has a tls-server-name of the certificate", a.joinAt(), a.member)
	case errors.As(a.err, &invalid) && invalid.Reason == x509.Expired:
		return a.expired(invalid.Cert), true
	case errors.As(a.err, &invalid), errors.As(a.err, &verification):
		return because("is not valid. Renew it on the member")
	}
	return failure{}, false
}

// expired returns the failure for a certificate that is not valid at this time. It does not quote the error, because the
// error has the present time, which differs with each probe.
func (a *attempt) expired(cert *x509.Certificate) failure {
	if a.now.Before(cert.NotBefore) {
		return failure{v1alpha1.ReasonTLSError, fmt.Sprintf("the certificate of the API server at %s is not valid before %s. The host's clock is behind, or the member's clock was "+
			"ahead when it made the certificate: correct the clock", a.at(), cert.NotBefore.UTC().Format(time.RFC3339))}
	}
	return failure{v1alpha1.ReasonTLSError, fmt.Sprintf("the certificate of the API server at %s has expired: it was valid until %s. Renew it on the member, or correct the host's clock "+
		"if that is ahead", a.at(), cert.NotAfter.UTC().Format(time.RFC3339))}
}

// protocol is the rule of classify for TLS errors that do not concern the certificate: the server speaks no TLS, or the handshake fails.
func (a *attempt) protocol() (failure, bool) {
	var record tls.RecordHeaderError
	var alert *net.OpError
	switch {
	case errors.Is(a.err, http.ErrSchemeMismatch), errors.As(a.err, &record):
		return a.because(v1alpha1.ReasonTLSError, "the server at %s does not speak TLS, so it is no API server. To use another host or port, %s", a.at(), a.joinAt()), true
	case errors.As(a.err, &alert) && (alert.Op == "remote error" || alert.Op == "local error"), strings.HasPrefix(a.err.Error(), "tls: "):
		return a.because(v1alpha1.ReasonTLSError, "the TLS handshake with the server at %s fails. Look at the TLS settings of the API server, and at proxies before it", a.at()), true
	}
	return failure{}, false
}

func (a *attempt) timedOut() (failure, bool) {
	if !isTimeout(a.err) {
		return failure{}, false
	}
	return failure{v1alpha1.ReasonTimeout, fmt.Sprintf("the API server at %s has not answered within %s. Look for a firewall that drops packets, a VPN that is down, "+
		"a machine that is off, or an API server without CPU or memory", a.at(), ProbeTimeout)}, true
}

func isTimeout(err error) bool {
	timed := net.Error(nil)
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timed) && timed.Timeout()
}

// broken is the rule of classify for connections that cannot be made, or that break.
func (a *attempt) broken() (failure, bool) {
	switch {
	case errors.Is(a.err, syscall.ECONNREFUSED) && a.proxy != nil:
		return a.because(v1alpha1.ReasonConnectionRefused, "the manager cannot reach the API server at %s: the proxy refuses the connection. Start the proxy. "+
			"If its address has changed, %s", a.at(), a.joinThrough()), true
	case errors.Is(a.err, syscall.ECONNREFUSED):
		return a.because(v1alpha1.ReasonConnectionRefused, "nothing listens at %s. Start the API server of the member. If the address has changed, %s", a.at(), a.joinAt()), true
	case errors.Is(a.err, syscall.EHOSTUNREACH), errors.Is(a.err, syscall.ENETUNREACH):
		return a.because(v1alpha1.ReasonUnreachable, "the manager's network has no route to %s. Look at the routes, the VPN and the firewalls between host and member", a.at()), true
	case errors.Is(a.err, syscall.ECONNRESET), errors.Is(a.err, syscall.EPIPE), errors.Is(a.err, io.EOF), errors.Is(a.err, io.ErrUnexpectedEOF):
		return a.because(v1alpha1.ReasonUnreachable, "the connection to %s breaks before an answer comes. Look at the API server of the member, and at load balancers, "+
			"proxies and firewalls before it", a.at()), true
	case a.proxy != nil:
		return a.because(v1alpha1.ReasonUnreachable, "the API server at %s does not answer. Look at the log of the proxy", a.at()), true
	}
	return failure{}, false
}
