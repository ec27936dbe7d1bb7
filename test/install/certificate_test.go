// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/admission/certificate"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// TestTheCertificateOfTheWebhooksIsRenewed runs two replicas of the manager, at first without a certificate. They have the
// permissions of the manager's service account. The test copies the Secret into their folders, as kubelets do. A certificate
// lives for 40 seconds here. From the first certificate on, each replica must always serve a certificate that the webhook
// configurations trust, and the API server must accept a wrapper at all times.
func TestTheCertificateOfTheWebhooksIsRenewed(t *testing.T) {
	box := shared.Sandbox(t)
	admin, host := connect(t, box, sandbox.HostName)
	apply(t, host, config.CRD, config.RBAC, config.Rotation)
	mark := shared.AuditMark(t, sandbox.HostName)
	ports := []int{webhookPort(t, box, "webhook"), webhookPort(t, box, "webhook-2")}
	registerWebhooks(t, host, "https://localhost:"+strconv.Itoa(ports[0]), nil)
	const namespace = "certificates"
	create(t, host, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})

	as := tokenConfig(t, admin, host)
	for i, port := range ports {
		dir := t.TempDir()
		server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.GetCertificate = certificate.NewFiles(dir, impatient{}).Get
		}}})
		var rotate []func(context.Context, manager.Manager) error
		if i == 0 { // a process can have only one rotator; a second one would do nothing anyhow, because only the leader's rotates
			rotate = append(rotate, func(ctx context.Context, mgr manager.Manager) error {
				return certificate.Rotate(ctx, mgr, certificate.Rotation{
					Dir: dir, Names: []string{"localhost"}, Lifetime: 40 * time.Second, Ahead: 30 * time.Second, Every: time.Second,
				})
			})
		}
		defer runManager(t, as, server, rotate...)()
		var mounted sync.WaitGroup
		mounted.Go(func() { mount(t.Context(), host, dir) })
		t.Cleanup(mounted.Wait) // runs before the cleanup that removes dir
	}

	accepts := func(ctx context.Context) error {
		wrapper := build.Federated("web").In(namespace).With(build.ConfigMap("web")).To("east").Obj()
		return host.Create(ctx, wrapper, client.DryRunAll)
	}
	eventually(t, "the first certificate is trusted", func(ctx context.Context) bool { return accepts(ctx) == nil })
	for _, port := range ports { // the second replica's folder may get the Secret later than the first's
		eventually(t, "each replica serves a certificate that is trusted", func(ctx context.Context) bool {
			_, err := trusted(ctx, host, port)
			return err == nil
		})
	}
	served := map[string]bool{}
	eventually(t, "three certificates were served", func(ctx context.Context) bool {
		if err := accepts(ctx); err != nil {
			t.Errorf("after %d certificates the API server refused a wrapper: %v", len(served), err)
		}
		for _, port := range ports {
			name, err := trusted(ctx, host, port)
			if err != nil {
				t.Errorf("after %d certificates a replica served one that is not trusted: %v", len(served), err)
			}
			served[name] = true
		}
		return len(served) >= 3
	})
	forbidden, err := mark.Requests(func(r audit.Request) bool {
		return r.User.Username == accountUser && r.Response.Code == http.StatusForbidden
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range forbidden {
		t.Errorf("forbidden: %s (%s)", r.What(), r.URI)
	}
}

// impatient is a clock that makes a replica read the certificate files at each connection. With a
// real clock the replica would keep the content of the files for a time.
type impatient struct{ clock.RealClock }

// Since returns an hour, so everything that was read is old. It implements clock.PassiveClock.
func (impatient) Since(time.Time) time.Duration { return time.Hour }

// mount copies the Secret into a folder again and again until ctx ends, as a kubelet does. All files change at once, because they are
// symbolic links through the link ..data, which the function project replaces. If the files changed one by one, a reader could get a
// certificate with an empty key.
func mount(ctx context.Context, host client.Client, dir string) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		secret := &corev1.Secret{}
		if host.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: certificate.Secret}, secret) == nil {
			_ = project(dir, secret) // after an error the next round writes the files
		}
	}, 300*time.Millisecond)
}

// project writes one version of the Secret into its own folder below dir, and then makes the files in dir lead to it.
func project(dir string, secret *corev1.Secret) error {
	version := "..version-" + secret.ResourceVersion
	if at, err := os.Readlink(filepath.Join(dir, "..data")); err == nil && at == version {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(dir, version), 0o700); err != nil {
		return err
	}
	for key, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(dir, version, key), content, 0o600); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join("..data", key), filepath.Join(dir, key)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	next := filepath.Join(dir, "..data_next")
	if err := os.Remove(next); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Symlink(version, next); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(dir, "..data"))
}

// trusted connects to the webhooks as the API server does: it trusts only the caBundle of each webhook configuration. It returns the signature
// of the certificate that the replica serves, which tells one certificate from another.
func trusted(ctx context.Context, host client.Client, port int) (string, error) {
	var found string
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		ca, err := bundle(ctx, host, kind)
		if err != nil {
			return "", err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(ca) {
			return "", fmt.Errorf("%s has no certificate in its caBundle", kind)
		}
		dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "fairlead-webhook.fairlead-system.svc"}}
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return "", fmt.Errorf("connecting with the caBundle of %s: %w", kind, err)
		}
		state := conn.(*tls.Conn).ConnectionState() //nolint:forcetypeassert // of a tls.Dialer
		found = base64.StdEncoding.EncodeToString(state.PeerCertificates[0].Signature)
		if err := conn.Close(); err != nil {
			return "", err
		}
	}
	return found, nil
}

func bundle(ctx context.Context, host client.Client, kind string) ([]byte, error) {
	c := &unstructured.Unstructured{}
	c.SetAPIVersion("admissionregistration.k8s.io/v1")
	c.SetKind(kind)
	if err := host.Get(ctx, client.ObjectKey{Name: "fairlead"}, c); err != nil {
		return nil, err
	}
	webhooks, _, err := unstructured.NestedSlice(c.Object, "webhooks")
	if err != nil || len(webhooks) == 0 {
		return nil, errors.Join(fmt.Errorf("%s has no webhooks", kind), err)
	}
	text, _, err := unstructured.NestedString(webhooks[0].(map[string]any), "clientConfig", "caBundle") //nolint:forcetypeassert // by the schema
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}
