// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
)

// requestTimeout bounds each request unless the user has set --request-timeout, because a host that hangs is a reason to call diagnose.
const requestTimeout = 30 * time.Second

// Host is what diagnose reads from.
type Host struct {
	client.Client

	// Version returns the version of Kubernetes.
	Version func(context.Context) (string, error)
	// Log opens the log of a container in a namespace; that of its previous run if previous is true.
	Log func(ctx context.Context, namespace, pod, container string, previous bool) (io.ReadCloser, error)
}

// connectWith returns the host that the flags select. It sends no request yet.
func connectWith(flags *genericclioptions.ConfigFlags) (*Host, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	var config *rest.Config
	host, err := connect.HostWith(flags, scheme, func(c *rest.Config) {
		if c.Timeout == 0 {
			c.Timeout = requestTimeout
		}
		c.QPS = -1 // turns off client-go's own limit: diagnose sends one request after the other
		c.WarningHandler = rest.NoWarnings{}
		config = c
	})
	if err != nil {
		return nil, err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the host: %w", err)
	}
	return &Host{Client: host,
		Version: func(ctx context.Context) (string, error) {
			// The method ServerVersion takes no context, so Ctrl-C would have to wait for it.
			content, err := clientset.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
			if err != nil {
				return "", err
			}
			found := version.Info{}
			if err := json.Unmarshal(content, &found); err != nil {
				return "", fmt.Errorf("reading the answer: %w", err)
			}
			return found.GitVersion, nil
		},
		Log: func(ctx context.Context, namespace, pod, container string, previous bool) (io.ReadCloser, error) {
			options := &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: new(int64(logLines)), Timestamps: true}
			return clientset.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
		}}, nil
}

// These bound the log of a container. A line can be long, so the lines alone do not bound it. maxRead bounds what hostctl receives.
const (
	logLines = 2000
	logBytes = 1 << 20
	maxRead  = 64 << 20
)

// endOf reads the last bytes of a log, beginning at the start of a line. If the limit cut a secret in two, the redaction would not
// recognize the remaining part.
func endOf(log io.Reader) ([]byte, error) {
	var end []byte
	cut := false
	log = io.LimitReader(log, maxRead)
	for chunk := make([]byte, 64<<10); ; {
		n, err := log.Read(chunk)
		end = append(end, chunk[:n]...)
		if len(end) > 2*logBytes {
			end, cut = append([]byte(nil), end[len(end)-logBytes:]...), true
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(end) > logBytes {
		end, cut = end[len(end)-logBytes:], true
	}
	if cut {
		_, end, _ = bytes.Cut(end, []byte("\n"))
	}
	return end, nil
}
