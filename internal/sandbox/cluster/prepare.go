// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Provisioner is the provisioner of a StorageClass with simulated volumes.
const Provisioner = "sandbox.fairlead.dev/simulated"

// Driver is the CSI driver of simulated volumes. It differs from Provisioner because the name of a driver cannot have a slash.
const Driver = "simulated.sandbox.fairlead.dev"

var (
	//go:embed manifests/kwok.yaml
	kwokConfig string
	//go:embed manifests/audit.yaml
	auditPolicy []byte
	//go:embed manifests/pod.log
	podLog []byte
)

// Prepare writes all files that the processes read. It creates keys and certificates only if they are missing, and writes all other files each time. So
// an existing sandbox gets the settings of a new version.
func (s Spec) Prepare(now time.Time) error {
	if err := makePKI(s.pki(""), s.Name, now); err != nil {
		return err
	}
	kubeconfigs := map[string]string{
		s.Kubeconfig():                         pairAdmin,
		s.file("kube-controller-manager.conf"): pairController,
		s.file("kube-scheduler.conf"):          pairScheduler,
		s.file("kwok.conf"):                    pairKwok,
		s.ManagerKubeconfig():                  pairManager,
		s.CollectorKubeconfig():                pairCollector,
	}
	for path, pair := range kubeconfigs {
		config, err := s.kubeconfig(pair)
		if err != nil {
			return err
		}
		if err := WriteKubeconfig(path, config); err != nil {
			return err
		}
	}
	files := map[string][]byte{
		s.file("kwok.yaml"):  []byte(strings.ReplaceAll(kwokConfig, "POD_LOG", s.file("pod.log"))),
		s.file("audit.yaml"): auditPolicy,
		s.file("pod.log"):    podLog,
	}
	for path, content := range files {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("preparing %s: %w", s.Name, err)
		}
	}
	if err := os.MkdirAll(s.file("logs"), 0o700); err != nil { // the API server does not create the folder of its audit log
		return fmt.Errorf("preparing %s: %w", s.Name, err)
	}
	return nil
}

func (s Spec) file(name string) string { return filepath.Join(s.Dir, name) }

// kubeconfig returns a kubeconfig with the certificates of a pair in it. Without paths of files, the kubeconfig can be copied, merged with others, or given
// to `hostctl join`.
func (s Spec) kubeconfig(pair string) (*clientcmdapi.Config, error) {
	read := func(name string) (content []byte, err error) {
		if content, err = os.ReadFile(s.pki(name)); err != nil {
			return nil, fmt.Errorf("writing a kubeconfig of %s: %w", s.Name, err)
		}
		return content, nil
	}
	ca, err := read(pairCA + ".crt")
	if err != nil {
		return nil, err
	}
	cert, err := read(pair + ".crt")
	if err != nil {
		return nil, err
	}
	key, err := read(pair + ".key")
	if err != nil {
		return nil, err
	}
	user := s.Name
	if pair != pairAdmin {
		user = pair
	}
	return &clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{s.Name: {Server: s.Server(), CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {ClientCertificateData: cert, ClientKeyData: key}},
		Contexts:       map[string]*clientcmdapi.Context{s.Name: {Cluster: s.Name, AuthInfo: user}},
		CurrentContext: s.Name,
	}, nil
}

// WriteKubeconfig writes config to path, so that only the owner can read the file. It keeps the current context of an existing file: the user may have
// chosen it with `kubectl config use-context`. It replaces the file in one step, and only if the content differs.
func WriteKubeconfig(path string, config *clientcmdapi.Config) error {
	if old, err := clientcmd.LoadFromFile(path); err == nil && config.Contexts[old.CurrentContext] != nil {
		config.CurrentContext = old.CurrentContext
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}
