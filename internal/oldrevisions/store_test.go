// SPDX-License-Identifier: Apache-2.0

package oldrevisions

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// wrapper returns a wrapper with one ConfigMap. The ConfigMap has this colour and, by an override, the region of the
// member.
func wrapper(colour string) *v1alpha1.Federated {
	override := build.Override("ConfigMap", "settings")
	override.Patch = []v1alpha1.PatchOperation{{Op: "add", Path: "/data/region", ValueFrom: &v1alpha1.ValueSource{FieldPath: "metadata.labels['region']"}}}
	w := build.Federated("web").In("shop").To("east").With(build.ConfigMap("settings", "colour", colour)).Overriding(override).Obj()
	w.UID = "u"
	return w
}

// revisionOf returns the ControllerRevision of a wrapper, as the manager writes it.
func revisionOf(t *testing.T, w *v1alpha1.Federated, name string) *appsv1.ControllerRevision {
	t.Helper()
	content, err := revision.Of(&w.Spec)
	if err != nil {
		t.Fatal(err)
	}
	r := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: content.Data}}
	r.Namespace, r.Name, r.Labels = w.Namespace, name, map[string]string{v1alpha1.LabelUID: string(w.UID)}
	return r
}

// host returns a client of a host with these objects. It counts the reads in the variable reads.
func host(reads *int, objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			*reads++
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
}

func in(region string) selection.Member {
	return selection.Member{Name: "east", Labels: map[string]string{"region": region}}
}

func TestAnEarlierRevisionRendersAsItWas(t *testing.T) {
	reads, w := 0, wrapper("blue")
	renderer, err := render.New(&w.Spec, "shop")
	if err != nil {
		t.Fatal(err)
	}
	was, err := renderer.For(in("eu"))
	if err != nil {
		t.Fatal(err)
	}
	store := New(host(&reads, revisionOf(t, w, "fed-web-1")), nil)
	got, err := store.Rendering(t.Context(), IDOf(w, "fed-web-1"), in("eu"), was.Digest)
	if err != nil {
		t.Fatal(err)
	}
	made, err := got.Render()
	if err != nil || made.Digest != was.Digest || string(made.Objects[0].JSON) != string(was.Objects[0].JSON) {
		t.Errorf("%+v, %v", made, err)
	}
	if !got.Lists("", "ConfigMap", "settings") || got.Lists("", "ConfigMap", "other") || got.Lists("", "Secret", "settings") {
		t.Error("the rendering lists other objects than its revision")
	}
	if reads != 1 {
		t.Errorf("%d reads of the host", reads)
	}
	if !got.Is(IDOf(w, "fed-web-1"), in("eu"), was.Digest) || got.Is(IDOf(w, "fed-web-1"), in("us"), was.Digest) || got.Is(IDOf(w, "fed-web-2"), in("eu"), was.Digest) {
		t.Error("Is returns true for another rendering, or false for this one")
	}
}

func TestARenderingThatIsNotAsItWasIsLost(t *testing.T) {
	w, other := wrapper("blue"), wrapper("blue")
	other.UID = "v"
	broken := revisionOf(t, w, "fed-web-1")
	broken.Data.Raw = []byte(`{"objects":"none"}`)
	for name, test := range map[string]struct {
		stored *appsv1.ControllerRevision
		member selection.Member
		digest string
	}{
		"another digest":             {revisionOf(t, w, "fed-web-1"), in("eu"), "sha256:other"},
		"a label that is gone":       {revisionOf(t, w, "fed-web-1"), selection.Member{Name: "east"}, ""},
		"a revision that is gone":    {revisionOf(t, w, "fed-web-2"), in("eu"), ""},
		"another wrapper's revision": {revisionOf(t, other, "fed-web-1"), in("eu"), ""},
		"a revision that is broken":  {broken, in("eu"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			store := New(host(&reads, test.stored), nil)
			if _, err := store.Rendering(t.Context(), IDOf(w, "fed-web-1"), test.member, test.digest); !errors.Is(err, ErrLost) {
				t.Errorf("%v", err)
			}
		})
	}
}

// The host's API server does not answer. If the manager took the revision for lost, it would stop its repairs.
func TestAHostThatDoesNotAnswerLosesNothing(t *testing.T) {
	refusing := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewInternalError(errors.New("etcd is away"))
		},
	}).Build()
	_, err := New(refusing, nil).Digest(t.Context(), IDOf(wrapper("blue"), "fed-web-1"), in("eu"))
	if err == nil || errors.Is(err, ErrLost) {
		t.Errorf("%v", err)
	}
}

func TestTheStoreKeepsABoundedNumberOfRevisions(t *testing.T) {
	reads := 0
	var objects []client.Object
	var ids []ID
	for i := range maxRevisions + 1 {
		w := wrapper(fmt.Sprint(i))
		w.UID = types.UID(fmt.Sprint(i))
		name := fmt.Sprintf("fed-web-%d", i)
		objects, ids = append(objects, revisionOf(t, w, name)), append(ids, IDOf(w, name))
	}
	store := New(host(&reads, objects...), nil)
	for range 2 {
		for _, id := range ids {
			if _, err := store.Digest(t.Context(), id, in("eu")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := 2 * len(ids); reads != want || store.recent.Len() != maxRevisions {
		t.Errorf("%d reads, want %d, and %d revisions in memory", reads, want, store.recent.Len())
	}
}
