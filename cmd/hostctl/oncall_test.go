// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	manifests "github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/plane"
)

// shared is the API server of a host without a manager.
var shared = plane.New(sandbox.Options{Name: "unit-hostctl"}, prepare)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// prepare installs the CRDs that a person on call reads, and the role.
func prepare(ctx context.Context, s *sandbox.Sandbox) error {
	config, err := s.RESTConfig(sandbox.HostName)
	if err != nil {
		return err
	}
	if err := plane.InstallCRDs(ctx, config, "federateds", "clusterfederateds", "memberreports", "memberclusters"); err != nil {
		return err
	}
	host, err := hostOf(s)
	if err != nil {
		return err
	}
	roles, err := manifests.Objects(manifests.RBAC)
	if err != nil {
		return err
	}
	for _, role := range roles {
		if role.GetName() != "fairlead-oncall" {
			continue
		}
		if err := host.Apply(ctx, client.ApplyConfigurationFromUnstructured(role), client.FieldOwner("test"), client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

func hostOf(s *sandbox.Sandbox) (client.Client, error) {
	config, err := s.RESTConfig(sandbox.HostName)
	if err != nil {
		return nil, err
	}
	config.WarningHandler = rest.NoWarnings{}
	return client.New(config, client.Options{Scheme: member.Scheme})
}

// The role fairlead-oncall in one namespace has to be enough, on a real API server. It cannot grant MemberClusters, which are
// cluster-scoped.
func TestARoleBindingInOneNamespaceIsEnoughForAPersonOnCall(t *testing.T) {
	s := shared.Sandbox(t)
	host, err := hostOf(s)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(host.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	must(host.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "on-call"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-oncall"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "person"}}}))
	w := build.Federated("web").In("shop").To("eu-1").With(build.ConfigMap("settings")).InWaves(v1alpha1.FailurePause, build.Wave("first", "eu-1"), build.Wave("last")).Obj()
	must(host.Create(t.Context(), w))
	w.Status.ObservedGeneration = w.Generation
	w.Status.Placement.Clusters = []string{"eu-1"}
	w.Status.Clusters = []v1alpha1.ClusterStatus{{Name: "eu-1", State: v1alpha1.StateDegraded, Reason: "CrashLoopBackOff", Message: "Deployment web: it crashes",
		LastTransitionTime: metav1.Now()}}
	must(host.Status().Update(t.Context(), w))
	r := build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", "eu-1")
	evidence := r.Status
	must(host.Create(t.Context(), r))
	r.Status = evidence
	r.Status.ObservedTime = metav1.Now()
	r.Status.Containers = []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", State: "Waiting", Reason: "CrashLoopBackOff", Log: "panic: no database\n", PreviousLog: "starting\n"}}
	r.Status.Events = []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-1", Type: "Warning", Reason: "BackOff", Message: "restarting", Count: 2, LastTime: metav1.Now()}}
	must(host.Status().Update(t.Context(), r))
	happened := func(name, message string) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Type: "Warning", Reason: "Happened", Message: message, LastTimestamp: metav1.Now(),
			InvolvedObject: corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Federated", Namespace: "shop", Name: "web", UID: w.UID}}
	}
	must(host.Create(t.Context(), happened("e1", "at the host")))

	path, err := s.Kubeconfig(sandbox.HostName)
	must(err)
	config, err := clientcmd.LoadFromFile(path)
	must(err)
	for _, user := range config.AuthInfos {
		user.Impersonate = "person"
	}
	mine := filepath.Join(t.TempDir(), "kubeconfig")
	must(clientcmd.WriteToFile(*config, mine))
	t.Setenv("KUBECONFIG", mine)

	as, err := s.RESTConfig(sandbox.HostName)
	must(err)
	as.Impersonate.UserName = "person"
	person, err := client.New(as, client.Options{Scheme: member.Scheme})
	must(err)
	must(wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		return person.List(ctx, &v1alpha1.MemberReportList{}, client.InNamespace("shop")) == nil, nil // the API server learns of a RoleBinding a moment later
	}))

	// A wrapper in another namespace, of which the person must see nothing.
	must(host.Create(t.Context(), build.Federated("web").In("default").To("eu-1").With(build.ConfigMap("top-secret-plan")).Obj()))
	const forbidden = "Error: getting Federated web from the host: federateds.federation.fairlead.dev \"web\" is forbidden"
	ofShop, ofAll := t.TempDir(), t.TempDir()
	for _, test := range []struct {
		args       []string
		code       int
		says, told string
	}{
		{[]string{"describe", "web", "-n", "shop"}, exit.Waits, "panic: no database", ""},
		{[]string{"events", "web", "-n", "shop"}, exit.Done, "at the host", ""},
		{[]string{"events", "web", "-n", "shop", "--cluster", "eu-1"}, exit.Done, "Pod/web-1", ""},
		{[]string{"logs", "web", "-n", "shop"}, exit.Done, "[eu-1/web-1/app] panic: no database\n", "eu-1: Deployment web: CrashLoopBackOff, received "},
		{[]string{"describe", "web", "-n", "shop", "--cluster", "eu-1"}, exit.Waits, "panic: no database", ""},
		{[]string{"describe", "web", "-n", "shop", "-o", "json"}, exit.Waits, `"panic: no database"`, ""},
		{[]string{"events", "web", "-n", "shop", "-o", "json"}, exit.Done, `"restarting"`, ""},
		{[]string{"logs", "web", "-n", "shop", "-o", "json"}, exit.Done, `"log": "panic: no database`, ""},
		{[]string{"logs", "web", "-n", "shop", "--cluster", "eu-1", "--container", "app", "--tail", "1"}, exit.Done, "[eu-1/web-1/app] panic: no database\n", ""},
		{[]string{"logs", "web", "-n", "shop", "--previous"}, exit.Done, "[eu-1/web-1/app] starting\n", ""},
		{[]string{"rollout", "status", "web", "-n", "shop"}, exit.Done, "eu-1", "• the waves of the members are not shown"},
		{[]string{"diagnose", "web", "-n", "shop", "--output-directory", ofShop}, exit.Done, "fairlead-diagnose-", "• reading Federated shop/web\n"},
		{[]string{"__complete", "logs", "web", "-n", "shop", "--container", ""}, exit.Done, "app\n", ""},
		{[]string{"logs", "web", "-n", "default"}, exit.Failed, "", forbidden},
		{[]string{"describe", "web", "-n", "default"}, exit.Failed, "", forbidden},
		{[]string{"events", "web", "-n", "default"}, exit.Failed, "", forbidden},
		{[]string{"diagnose", "web", "-n", "default", "--output-directory", ofAll}, exit.Failed, "", forbidden},
		{[]string{"diagnose", "--output-directory", ofAll}, exit.Failed, "", ""},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			out, said := gbytes.NewBuffer(), gbytes.NewBuffer()
			code := Execute(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: said}, test.args)
			if code != test.code || !strings.Contains(string(out.Contents()), test.says) || !strings.HasPrefix(string(said.Contents()), test.told) || strings.Contains(string(out.Contents()), "your account may not") {
				t.Errorf("code %d, want %d\n%s\n%s", code, test.code, out.Contents(), said.Contents())
			}
		})
	}

	archives, err := filepath.Glob(filepath.Join(ofShop, "*"))
	must(err)
	if len(archives) != 1 {
		t.Fatalf("diagnose of shop wrote %v", archives)
	}
	packed, err := os.Open(archives[0])
	must(err)
	unpacked, err := gzip.NewReader(packed)
	must(err)
	content, err := io.ReadAll(unpacked)
	must(err)
	must(packed.Close())
	if !strings.Contains(string(content), "settings") || strings.Contains(string(content), "top-secret-plan") {
		t.Error("the archive lacks the object of namespace shop, or has the one of namespace default")
	}
	if left, err := os.ReadDir(ofAll); err != nil || len(left) > 0 {
		t.Errorf("diagnose of what the person may not read left %v, %v", left, err)
	}

	// Without a manager, this test answers the requests.
	answer := func(logs string, earlier ...string) {
		t.Helper()
		must(wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			list := &v1alpha1.MemberReportList{}
			if err := host.List(ctx, list, client.InNamespace("shop")); err != nil {
				return false, err
			}
			for i := range list.Items {
				asked := &list.Items[i]
				if asked.Spec.Request == "" || asked.Status.Reason != "" && len(earlier) == 0 {
					continue
				}
				if asked.Spec.Cluster != "eu-1" || asked.Spec.Object.Name != "settings" || !strings.HasPrefix(asked.Name, "web-") || len(asked.OwnerReferences) != 1 {
					t.Errorf("%+v", asked)
				}
				asked.Status = v1alpha1.MemberReportStatus{Reason: v1alpha1.ReasonAnswered, Cluster: "eu-1", ObservedTime: metav1.Now()}
				asked.Status.Containers = []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", State: "Running", Log: logs}}
				return true, host.Status().Update(ctx, asked)
			}
			return false, nil
		}))
	}
	requests := func() (names []string) {
		t.Helper()
		list := &v1alpha1.MemberReportList{}
		must(host.List(t.Context(), list))
		for i := range list.Items {
			if list.Items[i].Spec.Request != "" {
				names = append(names, list.Items[i].Name)
			}
		}
		return names
	}

	t.Run("logs --object", func(t *testing.T) {
		out, said := gbytes.NewBuffer(), gbytes.NewBuffer()
		ended := make(chan int)
		go func() {
			ended <- Execute(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: said},
				[]string{"logs", "web", "-n", "shop", "--object", "ConfigMap/settings", "--cluster", "eu-1"})
		}()
		answer("all is well")
		if code := <-ended; code != exit.Done || string(out.Contents()) != "[eu-1/web-1/app] all is well\n" || len(requests()) > 0 {
			t.Errorf("code %d, requests %v\n%s\n%s", code, requests(), out.Contents(), said.Contents())
		}
	})

	t.Run("logs -f", func(t *testing.T) {
		out, said := gbytes.NewBuffer(), gbytes.NewBuffer()
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan int)
		go func() {
			ended <- Execute(ctx, genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: said},
				[]string{"logs", "web", "-n", "shop", "--object", "ConfigMap/settings", "--cluster", "eu-1", "-f"})
		}()
		answer("one")
		answer("one\ntwo", "one")
		must(wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return strings.Contains(string(out.Contents()), "two"), nil }))
		interrupt()
		if code := <-ended; code != exit.Done || string(out.Contents()) != "[eu-1/web-1/app] one\n[eu-1/web-1/app] two\n" || len(requests()) > 0 {
			t.Errorf("code %d, requests %v\n%s\n%s", code, requests(), out.Contents(), said.Contents())
		}
	})

	t.Run("events -w", func(t *testing.T) {
		out, said := gbytes.NewBuffer(), gbytes.NewBuffer()
		ctx, interrupt := context.WithCancel(t.Context())
		ended := make(chan int)
		go func() {
			ended <- Execute(ctx, genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: said}, []string{"events", "web", "-n", "shop", "-w"})
		}()
		await := func(text string) {
			t.Helper()
			err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return strings.Contains(string(out.Contents()), text), nil })
			if err != nil {
				t.Fatalf("no %q in:\n%s\n%s", text, out.Contents(), said.Contents())
			}
		}
		await("restarting")
		await("at the host")
		must(host.Create(t.Context(), happened("e2", "a later event")))
		await("a later event")
		r.Status.Events[0].Count, r.Status.Events[0].Message = 3, "restarting again"
		must(host.Status().Update(t.Context(), r))
		await("restarting again")
		interrupt()
		if code := <-ended; code != exit.Done || strings.Count(string(out.Contents()), "at the host") != 1 || len(said.Contents()) > 0 {
			t.Errorf("code %d\n%s\n%s", code, out.Contents(), said.Contents())
		}
	})
}
