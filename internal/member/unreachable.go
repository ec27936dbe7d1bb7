// SPDX-License-Identifier: Apache-2.0

package member

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/credentials"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// unreachable explains why the manager cannot use a member's API server. It names the field of the MemberCluster that
// may be the cause. Without that, a wrong edit of the field would look like a cluster that is down.
func unreachable(name string, config *rest.Config, err error) string {
	// Method and URL add nothing to spec.endpoint, and would come before the cause.
	if asking := (*url.Error)(nil); errors.As(err, &asking) {
		err = asking.Err
	}
	if elsewhere := (*redirect.Error)(nil); errors.As(err, &elsewhere) {
		return "spec.endpoint does not lead to an API server: " + elsewhere.Error()
	}
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var tooLarge *boundedread.TooLargeError
	var unusable *unusableError
	switch proxy := proxyOf(config); {
	case errors.As(err, &authority):
		return fmt.Sprintf("the API server's certificate is not signed by spec.caBundle. Another cluster answers there, or its authority "+
			"was renewed. Correct spec.endpoint, or run `hostctl join %s --cluster-kubeconfig FILE` again: %v", name, err)
	case errors.As(err, &host) && config.ServerName != "":
		return fmt.Sprintf("the API server's certificate is not for spec.tlsServerName %q. Run `hostctl join %s --cluster-kubeconfig FILE` again "+
			"with a kubeconfig that has the right tls-server-name: %v",
			config.ServerName, name, err)
	case errors.As(err, &host):
		return fmt.Sprintf("the API server's certificate is not for the host of spec.endpoint. Correct spec.endpoint, or set spec.tlsServerName: %v", err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the API server's certificate has expired or is not valid yet. Renew it on the member, or correct the host's clock: %v", err)
	case errors.As(err, &invalid), errors.As(err, &verification):
		return fmt.Sprintf("the API server's certificate is not valid. Renew it on the member: %v", err)
	case errors.As(err, &tooLarge), errors.As(err, &unusable):
		return fmt.Sprintf("the manager cannot use the API server's answer: %v", err)
	case proxy != nil:
		return fmt.Sprintf("the API server does not answer through spec.proxyURL %s: %v", credentials.WithoutUser(proxy.String()), err)
	}
	return "the API server does not answer: " + err.Error()
}
