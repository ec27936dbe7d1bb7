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

// These are the pairs of files in the cluster's folder pki. The pair NAME is NAME.crt, a certificate, and NAME.key, its key.
const (
	pairCA         = "ca"
	pairEtcd       = "etcd"       // for etcd as a server, and for the API server as etcd's client
	pairServing    = "serving"    // for all other servers of the cluster, at 127.0.0.1
	pairKubelet    = "kubelet"    // for the API server as a client of KWOK
	pairFrontProxy = "frontproxy" // for the API server as a client of aggregated API servers
	pairAdmin      = "admin"
	pairController = "controller-manager"
	pairScheduler  = "scheduler"
	pairKwok       = "kwok"
	pairManager    = "fairlead-manager-account" // another name than fairlead-manager, which earlier versions used for a user that has lost its permissions
	pairCollector  = "fairlead-collector"
	accountKey     = "sa.key"
	accountPub     = "sa.pub"
)

// lifetime is how long certificates are valid. No sandbox is kept that long, so nothing renews them.
const lifetime = 5 * 365 * 24 * time.Hour

const masters = "system:masters"

// leaves are the certificates that the cluster's certificate authority signs, by the name of their pair.
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
		// These certificates act as service accounts: the manager's, to which config/rbac grants permissions, and the
		// collector's, which a join creates. Unlike a token, a certificate needs no renewal.
		pairManager:   account("fairlead-manager"),
		pairCollector: account("fairlead-collector"),
	}
}

// etcdCertificate is the certificate with which etcd and the API server authenticate to each other. It is self-signed, and etcd accepts no other. If etcd
// accepted the cluster's certificate authority, every certificate of that authority would give access to all Secrets: etcd checks no
// permissions, and the authority signs many certificates, some on request through the API.
func etcdCertificate() x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: "etcd"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// makePKI fills dir with a certificate authority, the certificates and the key for service account tokens. It keeps existing files and adds missing ones,
// for example after an update of hostctl. It fills a new folder under another name and then renames the folder, so a crash leaves
// no incomplete one.
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

// completePKI creates the missing pairs.
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

// writePair creates a key and its certificate, and writes both. The parent signs the certificate; without a parent it is self-signed.
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
	cert.NotBefore, cert.NotAfter = now.Add(-time.Hour), now.Add(lifetime) // valid an hour earlier than now, in case the clock is set back
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
