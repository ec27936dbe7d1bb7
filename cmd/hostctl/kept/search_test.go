// SPDX-License-Identifier: Apache-2.0

package kept

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/intents"
)

func marked(change func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{}
	obj.Namespace, obj.Name = "shop", "data"
	obj.Labels = map[string]string{v1alpha1.LabelUID: "u"}
	obj.Annotations = map[string]string{v1alpha1.AnnotationWrapper: "federated/shop/web", v1alpha1.AnnotationObject: "crates.example.com/shop/data"}
	change(obj)
	return obj
}

var crates = discovery.Collection{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crates"}, Kind: "Crate"}

func TestMarksShowWhichWrapperDeliveredAnObject(t *testing.T) {
	web := search{wrapper: "federated/shop/web", namespace: "shop"}
	for name, test := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		want   bool
	}{
		"the wrapper's own object": {func(*metav1.PartialObjectMetadata) {}, true},
		"another wrapper's": {func(o *metav1.PartialObjectMetadata) {
			o.Annotations[v1alpha1.AnnotationWrapper] = "federated/shop/other"
		}, false},
		"an object to which the marks were copied": {func(o *metav1.PartialObjectMetadata) { o.Name = "child" }, false},
		"an object that was released":              {func(o *metav1.PartialObjectMetadata) { o.Labels = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := web.isMarked(marked(test.change), crates); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestWhyAnObjectWasKept(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		gk     schema.GroupKind
		want   string
	}{
		"data":        {func(*metav1.PartialObjectMetadata) {}, schema.GroupKind{Kind: "PersistentVolumeClaim"}, "of a kind that holds data, or that data depends on"},
		"annotated":   {func(o *metav1.PartialObjectMetadata) { o.Annotations[v1alpha1.AnnotationKeep] = "true" }, schema.GroupKind{Kind: "ConfigMap"}, `: "true"`},
		"a finalizer": {func(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{"rook\x1b[2J.io/x"} }, schema.GroupKind{Kind: "CephCluster"}, "finalizer rook[2J.io/x"},
		"no reason":   {func(*metav1.PartialObjectMetadata) {}, schema.GroupKind{Kind: "ConfigMap"}, "onDelete was KeepAll"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := why(marked(test.change), test.gk); !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// memberWith returns a connection to a member that has these Deliveries, and the names of the Deliveries that were read, in their order.
func memberWith(t *testing.T, has map[string]*v1alpha1.Delivery) (conn *member.Conn, reads *[]string) {
	t.Helper()
	reads = &[]string{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		*reads = append(*reads, name)
		w.Header().Set("Content-Type", "application/json")
		var answer any = has[name]
		if has[name] == nil {
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Details: &metav1.StatusDetails{Name: name}}
		}
		_ = json.NewEncoder(w).Encode(answer) // the client reports a cut answer
	}))
	t.Cleanup(server.Close)
	conn, err := member.Connect("east", &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	return conn, reads
}

func TestObjectsThatADeliveryOrTheListOfSharedIntentsListsAreNotKept(t *testing.T) {
	key := func(name string) v1alpha1.WrapperIdentity {
		return v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: name, UID: "u", Generation: 1}
	}
	lists := func(wrapper string, names ...string) v1alpha1.DeliverySpec {
		spec := v1alpha1.DeliverySpec{Wrapper: key(wrapper)}
		for _, name := range names {
			spec.Inventory = append(spec.Inventory, v1alpha1.InventoryEntry{Kind: "ConfigMap", Resource: "configmaps", Name: name})
		}
		return spec
	}
	entries, err := intents.Encode([]v1alpha1.DeliverySpec{lists("web", "b"), lists("other", "c")})
	if err != nil {
		t.Fatal(err)
	}
	name := deliveries.KeyOf(key("web")).Delivery()
	of := func(spec v1alpha1.DeliverySpec, annotation string) *v1alpha1.Delivery {
		return &v1alpha1.Delivery{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delivery"},
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{intents.Annotation: annotation}}, Spec: spec}
	}
	configMap := func(name string) resourceName {
		return resourceName{schema.GroupResource{Resource: "configmaps"}, name}
	}
	for title, test := range map[string]struct {
		has  map[string]*v1alpha1.Delivery
		want map[resourceName]bool
		err  string
	}{
		"none":   {nil, map[resourceName]bool{}, ""},
		"both":   {map[string]*v1alpha1.Delivery{name: of(lists("web", "a"), ""), marks.SharedIntents: of(v1alpha1.DeliverySpec{}, entries)}, map[resourceName]bool{configMap("a"): true, configMap("b"): true}, ""},
		"broken": {map[string]*v1alpha1.Delivery{marks.SharedIntents: of(v1alpha1.DeliverySpec{}, "{")}, nil, "reading Delivery intents"},
	} {
		t.Run(title, func(t *testing.T) {
			conn, reads := memberWith(t, test.has)
			got, err := search{delivery: name}.listed(t.Context(), conn)
			if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v\n%s", err, diff)
			}
			if diff := cmp.Diff([]string{marks.SharedIntents, name}, *reads); diff != "" {
				t.Errorf("an entry that becomes a Delivery meanwhile must not be missed: %s", diff)
			}
		})
	}
}
