// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Names of files in the cluster's pki folder; a pair NAME is NAME.crt and NAME.key.
const (
	pairCA         = "ca"
	pairServing    = "serving"    // every program of the cluster serves with it: all are at 127.0.0.1
	pairKubelet    = "kubelet"    // the API server towards KWOK
	pairFrontProxy = "frontproxy" // the API server towards aggregated ones
	pairAdmin      = "admin"
	pairController = "controller-manager"
	pairScheduler  = "scheduler"
	pairKwok       = "kwok"
	pairManager    = "fairlead-manager"
	accountKey     = "sa.key"
	accountPub     = "sa.pub"
)

// lifetime of certificates. Nobody keeps a sandbox this long, and nothing here renews them.
const lifetime = 5 * 365 * 24 * time.Hour

const masters = "system:masters"

// leaves are the certificates that the authority signs.
func leaves() map[string]x509.Certificate {
	client := func(name string, groups ...string) x509.Certificate {
		return x509.Certificate{
			Subject:     pkix.Name{CommonName: name, Organization: groups},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
	}
	return map[string]x509.Certificate{
		pairServing: {
			Subject:     pkix.Name{CommonName: "sandbox"},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		},
		pairKubelet:    client("kube-apiserver-kubelet-client", masters),
		pairFrontProxy: client("front-proxy-client"),
		pairAdmin:      client("sandbox-admin", masters),
		pairController: client("system:kube-controller-manager"),
		pairScheduler:  client("system:kube-scheduler"),
		pairKwok:       client("sandbox-kwok", masters),
		pairManager:    client("fairlead-manager"), // what it may do is bound in config/rbac
	}
}

// makePKI fills dir with an authority, its certificates and the key for service account tokens, unless it is there.
// It is made whole under another name, so that a crash leaves no half of one.
func makePKI(dir, cluster string, now time.Time) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	half := dir + ".new"
	if err := errors.Join(os.RemoveAll(half), os.MkdirAll(half, 0o700)); err != nil {
		return fmt.Errorf("making the certificates of %s: %w", cluster, err)
	}
	if err := fillPKI(half, cluster, now); err != nil {
		return fmt.Errorf("making the certificates of %s: %w", cluster, err)
	}
	if err := os.Rename(half, dir); err != nil {
		return fmt.Errorf("making the certificates of %s: %w", cluster, err)
	}
	return nil
}

func fillPKI(dir, cluster string, now time.Time) error {
	authority := x509.Certificate{
		Subject: pkix.Name{CommonName: cluster + "-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	ca, caKey, err := writePair(dir, pairCA, authority, nil, nil, now)
	if err != nil {
		return err
	}
	for name, leaf := range leaves() {
		leaf.KeyUsage = x509.KeyUsageDigitalSignature
		if _, _, err := writePair(dir, name, leaf, ca, caKey, now); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return errors.Join(writeKey(filepath.Join(dir, accountKey), key), writePEM(filepath.Join(dir, accountPub), "PUBLIC KEY", public))
}

// writePair makes a key and a certificate for it, signed by parent, or by itself without one.
func writePair(
	dir, name string, cert x509.Certificate, parent *x509.Certificate, parentKey *ecdsa.PrivateKey, now time.Time,
) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if cert.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, err
	}
	cert.NotBefore, cert.NotAfter = now.Add(-time.Hour), now.Add(lifetime) // an hour, for clocks that are set back
	if parent == nil {
		parent, parentKey = &cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &cert, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, name)
	if err := errors.Join(writePEM(path+".crt", "CERTIFICATE", der), writeKey(path+".key", key)); err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return made, key, err
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
