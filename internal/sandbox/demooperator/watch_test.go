// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// watchedMember is a fake API server that issues numbered tokens, with a record of the instances that Watch has started and stopped.
type watchedMember struct {
	t         *testing.T
	client    *fake.Clientset
	dir       string
	tokens    int
	did       []string
	refusals  int // how many calls of Start fail before one succeeds
	before    []cache.ObjectName
	lastStart Instance
}

// watching runs f while Watch runs on a fake member, in a synctest bubble with a clock of its own. It returns when Watch has ended. Deployment "rolling"
// exists from the start, in the middle of a rollout. The argument before names the Deployments that have a process from the start.
func watching(t *testing.T, f func(ctx context.Context, m *watchedMember), before ...string) *watchedMember {
	rolling := rolledOut("v1.0.0", func(d *appsv1.Deployment) { d.Name, d.Generation = "rolling", 3 })
	m := &watchedMember{t: t, client: fake.NewClientset(rolling), dir: filepath.Join(t.TempDir(), "operators")}
	for _, deployment := range before {
		m.before = append(m.before, cache.NewObjectName("shop", deployment))
	}
	m.client.PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "token" {
			return false, nil, nil
		}
		m.tokens++
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: fmt.Sprintf("token-%d", m.tokens)}}, nil
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- watch(ctx, m.client, WatchOptions{
				REST: &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")}},
				Dir:  m.dir, Start: m.start, Stop: m.stop,
				Running: func(context.Context) ([]cache.ObjectName, error) { return m.before, nil },
			})
		}()
		m.settled()
		f(ctx, m)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Watch ended with %v", err)
		}
	})
	return m
}

func (m *watchedMember) start(_ context.Context, i Instance) error {
	if m.refusals > 0 {
		m.refusals--
		return errors.New("no room")
	}
	m.lastStart = i
	m.did = append(m.did, "start "+i.Version)
	return nil
}

func (m *watchedMember) stop(_ context.Context, deployment cache.ObjectName) error {
	m.did = append(m.did, "stop "+deployment.Name)
	return nil
}

// settled waits until Watch has nothing more to do. It also waits for work that Watch delays by up to a second of the bubble's clock.
func (m *watchedMember) settled() {
	synctest.Wait()
	<-time.After(time.Second)
	synctest.Wait()
}

func (m *watchedMember) create(ctx context.Context, d *appsv1.Deployment) {
	m.t.Helper()
	if _, err := m.client.AppsV1().Deployments(d.Namespace).Create(ctx, d, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	m.settled()
}

func (m *watchedMember) update(ctx context.Context, d *appsv1.Deployment) {
	m.t.Helper()
	if _, err := m.client.AppsV1().Deployments(d.Namespace).Update(ctx, d, metav1.UpdateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	m.settled()
}

func (m *watchedMember) delete(ctx context.Context, d *appsv1.Deployment) {
	m.t.Helper()
	if err := m.client.AppsV1().Deployments(d.Namespace).Delete(ctx, d.Name, metav1.DeleteOptions{}); err != nil {
		m.t.Fatal(err)
	}
	m.settled()
}

func (m *watchedMember) files() []string {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWatch(t *testing.T) {
	rolling := func(d *appsv1.Deployment) { d.Generation = 3 }
	unready := func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 0 }
	anew := func(d *appsv1.Deployment) { d.UID = "d-2" }
	named := func(name string) func(*appsv1.Deployment) { return func(d *appsv1.Deployment) { d.Name = name } }

	tests := map[string]struct {
		before  []string
		happens func(ctx context.Context, m *watchedMember)
		want    []string
	}{
		"an operator runs while its Deployment is rolled out, and ends with it": {
			happens: func(ctx context.Context, m *watchedMember) {
				m.create(ctx, rolledOut("v1.0.0", unready))
				m.update(ctx, rolledOut("v1.0.0"))
				m.delete(ctx, rolledOut("v1.0.0"))
				if left := m.files(); len(left) > 0 {
					m.t.Errorf("credentials left behind: %v", left)
				}
			},
			want: []string{"start v1.0.0", "stop demo-operator"},
		},
		"the operator's process keeps running when the watch ends": {
			happens: func(ctx context.Context, m *watchedMember) { m.create(ctx, rolledOut("v1.0.0")) },
			want:    []string{"start v1.0.0"},
		},
		"an upgrade keeps the old version until the new one is rolled out": {
			happens: func(ctx context.Context, m *watchedMember) {
				m.create(ctx, rolledOut("v1.0.0"))
				m.update(ctx, rolledOut("v1.1.0", rolling))
				if !slices.Equal(m.did, []string{"start v1.0.0"}) {
					m.t.Errorf("while rolling out: %v", m.did)
				}
				m.update(ctx, rolledOut("v1.1.0"))
			},
			want: []string{"start v1.0.0", "start v1.1.0"},
		},
		"a Deployment that was deleted and made again gets a new process": {
			happens: func(ctx context.Context, m *watchedMember) {
				m.create(ctx, rolledOut("v1.0.0"))
				m.update(ctx, rolledOut("v1.0.0", anew))
			},
			want: []string{"start v1.0.0", "start v1.0.0"},
		},
		"a change of fields that the process does not depend on restarts nothing": {
			happens: func(ctx context.Context, m *watchedMember) {
				m.create(ctx, rolledOut("v1.0.0"))
				m.update(ctx, rolledOut("v1.0.0", func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }))
			},
			want: []string{"start v1.0.0"},
		},
		"a start that fails is tried again": {
			happens: func(ctx context.Context, m *watchedMember) {
				m.refusals = 2
				m.create(ctx, rolledOut("v1.0.0"))
			},
			want: []string{"start v1.0.0"},
		},
		"an unknown version ends the process of the previous version": {
			happens: func(ctx context.Context, m *watchedMember) {
				m.create(ctx, rolledOut("v1.0.0"))
				m.update(ctx, rolledOut("v7"))
			},
			want: []string{"start v1.0.0", "stop demo-operator"},
		},
		"a process from an earlier watch ends when its Deployment does not exist any more": {
			before:  []string{"gone"},
			happens: func(context.Context, *watchedMember) {},
			want:    []string{"stop gone"},
		},
		"a process from an earlier watch stays during a rollout, and is then replaced by the Deployment's version": {
			before: []string{"rolling"},
			happens: func(ctx context.Context, m *watchedMember) {
				if len(m.did) > 0 {
					m.t.Errorf("while rolling out: %v", m.did)
				}
				m.update(ctx, rolledOut("v1.1.0", named("rolling")))
			},
			want: []string{"start v1.1.0"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := watching(t, test.happens, test.before...)
			if diff := cmp.Diff(test.want, got.did); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWatchAsksForItsOwnDeploymentsOnly(t *testing.T) {
	m := watching(t, func(context.Context, *watchedMember) {})
	asked := ""
	for _, a := range m.client.Actions() {
		if list, ok := a.(clienttesting.ListAction); ok && a.GetResource().Resource == "deployments" {
			asked = list.GetListRestrictions().Labels.String()
		}
	}
	if want := "demo.fairlead.dev/operator=demo-operator"; asked != want {
		t.Errorf("want Deployments listed by %q, got %q", want, asked)
	}
}

func TestWatchGivesCredentials(t *testing.T) {
	watching(t, func(ctx context.Context, m *watchedMember) {
		m.create(ctx, rolledOut("v1.0.0"))

		config, err := clientcmd.BuildConfigFromFlags("", m.lastStart.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		if config.Host != "https://127.0.0.1:1" || string(config.CAData) != "ca" {
			t.Errorf("the kubeconfig names %s with CA %q", config.Host, config.CAData)
		}
		token := func() string {
			content, err := os.ReadFile(config.BearerTokenFile)
			if err != nil {
				t.Fatal(err)
			}
			return string(content)
		}
		if got := token(); got != "token-1" {
			t.Errorf("at first the token is %s", got)
		}

		<-time.After(3 * tokenRefresh) // on the bubble's clock
		synctest.Wait()
		if got := token(); got != "token-4" {
			t.Errorf("after three times the refresh interval the token is %s", got)
		}
		if diff := cmp.Diff([]string{"start v1.0.0"}, m.did); diff != "" {
			t.Errorf("refreshing restarted the operator (-want +got):\n%s", diff)
		}
		info, err := os.Stat(config.BearerTokenFile)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the token file must have mode 0600: %v, %v", info, err)
		}
	})
}
