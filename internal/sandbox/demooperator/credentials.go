// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// A token belongs to the UID of its service account. If the account is deleted and created again, the operator has no access until it gets its next token,
// which takes up to tokenRefresh.
const (
	// tokenLife is how long a token is valid. Tokens in pods are valid for the same time.
	tokenLife = time.Hour
	// tokenRefresh is the time after which the watcher replaces a token.
	tokenRefresh = 10 * time.Minute
)

// credentials writes kubeconfigs for service accounts into one folder. Each kubeconfig names a file with the token. client-go reads that file again from
// time to time, so an operator uses a new token without a restart.
type credentials struct {
	rest   *rest.Config // the kubeconfigs get its server and its CA
	client kubernetes.Interface
	dir    string
}

// kubeconfig returns the path of an instance's kubeconfig. The path is unique: names of namespaces and Deployments have no underscore.
func (c credentials) kubeconfig(i Instance) string {
	return filepath.Join(c.dir, i.Namespace+"_"+i.Deployment+".kubeconfig")
}

func (c credentials) token(i Instance) string {
	return filepath.Join(c.dir, i.Namespace+"_"+i.Deployment+".token")
}

// refresh writes a new token of the instance's service account into the token file.
func (c credentials) refresh(ctx context.Context, i Instance) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64(tokenLife / time.Second)),
	}}
	answer, err := c.client.CoreV1().ServiceAccounts(i.Namespace).CreateToken(ctx, i.ServiceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("requesting a token of service account %s/%s: %w", i.Namespace, i.ServiceAccount, err)
	}
	if err := replaceFile(c.token(i), []byte(answer.Status.Token)); err != nil {
		return fmt.Errorf("writing the token of service account %s/%s: %w", i.Namespace, i.ServiceAccount, err)
	}
	return nil
}

// write writes the instance's kubeconfig and a new token.
func (c credentials) write(ctx context.Context, i Instance) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder for kubeconfigs: %w", err)
	}
	if err := c.refresh(ctx, i); err != nil {
		return err
	}
	server := rest.CopyConfig(c.rest)
	if err := rest.LoadTLSFiles(server); err != nil {
		return fmt.Errorf("reading the cluster's CA: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["member"] = &clientcmdapi.Cluster{
		Server: server.Host, CertificateAuthorityData: server.CAData, TLSServerName: server.ServerName,
	}
	config.AuthInfos[i.ServiceAccount] = &clientcmdapi.AuthInfo{TokenFile: c.token(i)}
	config.Contexts["member"] = &clientcmdapi.Context{Cluster: "member", AuthInfo: i.ServiceAccount, Namespace: i.Namespace}
	config.CurrentContext = "member"
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", i.Key(), err)
	}
	if err := replaceFile(c.kubeconfig(i), content); err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", i.Key(), err)
	}
	return nil
}

// remove deletes the instance's kubeconfig and token file. The token itself stays valid until it expires.
func (c credentials) remove(i Instance) error {
	for _, path := range []string{c.kubeconfig(i), c.token(i)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the credentials of %s: %w", i.Key(), err)
		}
	}
	return nil
}

// replaceFile replaces a file in one step, because another process may read it at any moment.
func replaceFile(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
