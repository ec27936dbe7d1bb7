// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
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

// Names of files in the cluster's pki folder. A pair NAME is the two files NAME.crt and NAME.key.
const (
	pairCA         = "ca"
	pairEtcd       = "etcd"       // etcd's, and the API server's as its client
	pairServing    = "serving"    // all programs of the cluster serve with it, at 127.0.0.1
	pairKubelet    = "kubelet"    // the API server's as a client of KWOK
	pairFrontProxy = "frontproxy" // the API server's as a client of aggregated API servers
	pairAdmin      = "admin"
	pairController = "controller-manager"
	pairScheduler  = "scheduler"
	pairKwok       = "kwok"
	pairManager    = "fairlead-manager-account" // pair fairlead-manager, of earlier versions, is a user without permissions now
	pairCollector  = "fairlead-collector"
	accountKey     = "sa.key"
	accountPub     = "sa.pub"
)

// lifetime of certificates. A sandbox is not kept that long, so nothing renews them.
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
	account := func(name string) x509.Certificate {
		return client("system:serviceaccount:fairlead-system:"+name, "system:serviceaccounts", "system:serviceaccounts:fairlead-system")
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
		// The service accounts of the manager, whose permissions config/rbac binds, and of the collector, which the join makes. A
		// certificate in the name of an account needs no renewal, unlike a token.
		pairManager:   account("fairlead-manager"),
		pairCollector: account("fairlead-collector"),
	}
}

// etcdCertificate is the certificate that etcd and the API server present to each other. It is its own authority. The
// cluster's authority signs many certificates, also through the API. If etcd accepted that authority, each of these
// would open etcd, which holds all Secrets and checks no permissions.
func etcdCertificate() x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: "etcd"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// makePKI fills dir with an authority, its certificates and the key for service account tokens. Existing files stay, and missing
// certificates are added, as after an update of hostctl. A new PKI is made under another name and then renamed, so that a crash
// leaves no incomplete one.
func makePKI(dir, cluster string, now time.Time) error {
	if err := fillOrCompletePKI(dir, cluster, now); err != nil {
		return fmt.Errorf("making the certificates of %s: %w", cluster, err)
	}
	return nil
}

func fillOrCompletePKI(dir, cluster string, now time.Time) error {
	if _, err := os.Stat(dir); err == nil {
		return completePKI(dir, now)
	}
	half := dir + ".new"
	if err := errors.Join(os.RemoveAll(half), os.MkdirAll(half, 0o700)); err != nil {
		return err
	}
	if err := fillPKI(half, cluster, now); err != nil {
		return err
	}
	return os.Rename(half, dir)
}

// completePKI makes the certificates that are missing.
func completePKI(dir string, now time.Time) error {
	if !hasPair(dir, pairEtcd) {
		if _, _, err := writePair(dir, pairEtcd, etcdCertificate(), nil, nil, now); err != nil {
			return err
		}
	}
	for name, leaf := range leaves() {
		if hasPair(dir, name) {
			continue
		}
		authority, err := tls.LoadX509KeyPair(filepath.Join(dir, pairCA+".crt"), filepath.Join(dir, pairCA+".key"))
		if err != nil {
			return err
		}
		key, ok := authority.PrivateKey.(*ecdsa.PrivateKey)
		if !ok {
			return fmt.Errorf("the authority's key is a %T", authority.PrivateKey)
		}
		leaf.KeyUsage = x509.KeyUsageDigitalSignature
		if _, _, err := writePair(dir, name, leaf, authority.Leaf, key, now); err != nil {
			return err
		}
	}
	return nil
}

func hasPair(dir, name string) bool {
	_, errCert := os.Stat(filepath.Join(dir, name+".crt"))
	_, errKey := os.Stat(filepath.Join(dir, name+".key"))
	return errCert == nil && errKey == nil
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
	if _, _, err := writePair(dir, pairEtcd, etcdCertificate(), nil, nil, now); err != nil {
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

// writePair makes a key and its certificate. The parent signs it; without a parent it is self-signed.
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
	cert.NotBefore, cert.NotAfter = now.Add(-time.Hour), now.Add(lifetime) // an hour earlier, for clocks that are set back
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
