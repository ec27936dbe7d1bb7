// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
)

// fieldKind is the field of an event by which the API server selects the events about objects of one kind.
const fieldKind = "involvedObject.kind"

// wrappers reads the wrappers of the command's scope, and their reports, events, revisions and Approvals.
type wrappers struct {
	parts *collection
	// found are the wrappers that the archive has. Their statuses are safe to print (evidence.CleanStatus), and they
	// have neither objects nor overrides.
	found []v1alpha1.Wrapper
}

// one reads one wrapper, and its reports, events, revisions and Approvals. It returns an error if the wrapper cannot be read.
func (l *wrappers) one(ctx context.Context, kind v1alpha1.WrapperKind, namespace, name string) error {
	// If there is no such wrapper, the error of connect.Wrapper lists similar names.
	typed, err := connect.Wrapper(ctx, l.parts.host, kind, namespace, name)
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(string(kind)))
	if err := l.parts.part(ctx, render.TitleOf(typed), func() error {
		if err := l.parts.host.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
			return err
		}
		return l.add(kind, obj.UnstructuredContent())
	}); err != nil || len(l.found) == 0 {
		return errors.Join(err, l.parts.first)
	}
	w := l.found[0]
	beside := v1alpha1.Identity(w).Beside()
	return inOrder(
		func() error { return l.reportsOf(ctx, w) },
		func() error {
			return l.parts.grouped(ctx, "events of "+render.TitleOf(w), "events.yaml", listOfEvents, evidence.HostEventsOf(w)...)
		},
		func() error {
			return l.parts.grouped(ctx, "the metadata of controllerrevisions of "+render.TitleOf(w), "controllerrevisions.yaml", metadataOf(appsv1.SchemeGroupVersion, "ControllerRevision"),
				client.InNamespace(beside), client.MatchingLabels{v1alpha1.LabelUID: string(w.GetUID())})
		},
		func() error { return l.approvalsOf(ctx, w) },
	)
}

// in reads the wrappers of a namespace, or of the host if namespace is "", and their reports, events, revisions and Approvals.
func (l *wrappers) in(ctx context.Context, namespace string) error {
	in, within := client.InNamespace(namespace), " in namespace "+namespace
	if namespace == "" {
		within = " in all namespaces"
		if err := l.of(ctx, v1alpha1.KindClusterFederated, "clusterfederateds"); err != nil {
			return err
		}
	}
	return inOrder(
		func() error { return l.of(ctx, v1alpha1.KindFederated, "federateds"+within, in) },
		func() error {
			what := "memberreports" + within
			return l.parts.part(ctx, what, func() error {
				return l.parts.each(ctx, what, l.parts.limits.Objects, listOf(v1alpha1.GroupVersion, "MemberReport"), l.addReport, in)
			})
		},
		func() error {
			return l.parts.grouped(ctx, "events about federateds"+within, "events.yaml", listOfEvents, in, client.MatchingFields{fieldKind: string(v1alpha1.KindFederated)})
		},
		func() error {
			if namespace != "" {
				return nil
			}
			return l.parts.grouped(ctx, "events about clusterfederateds", "clusterfederateds-events.yaml", listOfEvents, client.InNamespace(metav1.NamespaceDefault),
				client.MatchingFields{fieldKind: string(v1alpha1.KindClusterFederated)})
		},
		func() error {
			return l.parts.grouped(ctx, "the metadata of controllerrevisions"+within, "controllerrevisions.yaml", metadataOf(appsv1.SchemeGroupVersion, "ControllerRevision"),
				in, client.HasLabels{v1alpha1.LabelUID})
		},
		func() error {
			return l.parts.grouped(ctx, "approvals"+within, "approvals.yaml", listOf(v1alpha1.GroupVersion, "Approval"), in)
		},
	)
}

// inOrder calls steps until one returns an error.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// of reads the wrappers of one kind.
func (l *wrappers) of(ctx context.Context, kind v1alpha1.WrapperKind, what string, opts ...client.ListOption) error {
	return l.parts.part(ctx, what, func() error {
		return l.parts.each(ctx, what, l.parts.limits.Wrappers-len(l.found), listOf(v1alpha1.GroupVersion, string(kind)), func(obj map[string]any) error { return l.add(kind, obj) }, opts...)
	})
}

// add adds the file of a wrapper, and keeps the wrapper for the summary. It redacts the secrets before it calls
// evidence.CleanStatus, which shortens texts: the redaction would not recognize a secret that is cut in two.
func (l *wrappers) add(kind v1alpha1.WrapperKind, obj map[string]any) error {
	var w v1alpha1.Wrapper = &v1alpha1.Federated{}
	if kind == v1alpha1.KindClusterFederated {
		w = &v1alpha1.ClusterFederated{}
	}
	obj = l.parts.redaction.object(obj)
	u := unstructured.Unstructured{Object: obj}
	name := folderOf(u.GetNamespace()) + strings.ToLower(string(kind)) + "s/" + u.GetName() + ".yaml"
	if err := l.parts.addYAML(name, obj); err != nil {
		return err
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, w)
	if err == nil {
		err = evidence.CleanStatus(w.WrapperStatus())
	}
	if err != nil {
		// A later version of the API may have changed a field.
		l.parts.cutf("summary.txt: %s, because this hostctl cannot decode it: %s", name, l.parts.why(err))
	}
	// The summary needs neither the objects nor the overrides, which can be large.
	w.WrapperSpec().Objects, w.WrapperSpec().Overrides = nil, nil
	l.found = append(l.found, w)
	return nil
}

// reportsOf reads the MemberReports of a wrapper. It lists their metadata first, because the reports of a namespace can be large.
func (l *wrappers) reportsOf(ctx context.Context, w v1alpha1.Wrapper) error {
	what, namespace := "memberreports of "+render.TitleOf(w), evidence.ReportsNamespace(w)
	return l.parts.part(ctx, what, func() error {
		var names []string
		if err := l.parts.each(ctx, what, l.parts.limits.Objects, metadataOf(v1alpha1.GroupVersion, "MemberReport"), func(obj map[string]any) error {
			if report := (&unstructured.Unstructured{Object: obj}); evidence.IsOf(report, w) {
				names = append(names, report.GetName())
			}
			return nil
		}, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, name := range names {
			report := &unstructured.Unstructured{}
			report.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MemberReport"))
			err := l.parts.host.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, report)
			if err == nil {
				err = l.addReport(report.UnstructuredContent())
			}
			if client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		return nil
	})
}

// addReport adds the file of a MemberReport.
func (l *wrappers) addReport(obj map[string]any) error {
	report := unstructured.Unstructured{Object: obj}
	return l.parts.addObject(folderOf(report.GetNamespace())+"memberreports/"+report.GetName()+".yaml", obj)
}

// approvalsOf reads the Approvals of a wrapper.
func (l *wrappers) approvalsOf(ctx context.Context, w v1alpha1.Wrapper) error {
	what := "approvals of " + render.TitleOf(w)
	return l.parts.part(ctx, what, func() error {
		files := group{}
		err := l.parts.each(ctx, what, l.parts.limits.Objects, listOf(v1alpha1.GroupVersion, "Approval"), func(obj map[string]any) error {
			kind, _, _ := unstructured.NestedString(obj, "spec", "wrapper", "kind")
			name, _, _ := unstructured.NestedString(obj, "spec", "wrapper", "name")
			if kind != string(w.WrapperKind()) || name != w.GetName() {
				return nil
			}
			return files.add(&l.parts.redaction, obj)
		}, client.InNamespace(v1alpha1.Identity(w).Beside()))
		return errors.Join(err, files.write(l.parts.archive, "approvals.yaml"))
	})
}

// listOfEvents makes an empty list of events.
func listOfEvents() client.ObjectList { return listOf(corev1.SchemeGroupVersion, "Event")() }
