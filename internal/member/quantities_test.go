// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
)

// endlessPod has a quantity that takes longer to parse than a test may run.
const endlessPod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},
	"spec":{"nodeName":"n","containers":[{"name":"c","resources":{"limits":{"memory":"1e-2000000000"}}}]}}`

// A client decodes the kind that an answer names, and the body of an error too.
func TestTheManagerParsesNoQuantityOfAMember(t *testing.T) {
	named := client.ObjectKey{Namespace: "a", Name: "a"}
	path := Path(corev1.SchemeGroupVersion.WithResource("pods"), "a", "a")
	for name, read := range map[string]func(*Conn) error{
		"an answer": func(c *Conn) error {
			answer, err := Do(t.Context(), c.REST().Get().AbsPath(path...), false)
			if err != nil {
				return err
			}
			return answer.Into(&corev1.Pod{})
		},
		"a Pod instead of another object": func(c *Conn) error { return c.GetClient().Get(t.Context(), named, &corev1.Secret{}) },
		"a Pod":                           func(c *Conn) error { return c.GetClient().Get(t.Context(), named, &corev1.Pod{}) },
		"a Pod instead of a discovery document": func(c *Conn) error {
			_, err := discovery.Versions(t.Context(), c.REST(), "shop.example.com")
			return err
		},
		"a Pod instead of a watch": func(c *Conn) error {
			body, err := c.REST().Get().AbsPath(path...).Stream(t.Context())
			if err == nil {
				_ = body.Close()             // the manager reads no more of it
				err = http.ErrBodyNotAllowed // a 200 begins a watch, which the manager decodes itself
			}
			return err
		},
	} {
		for _, code := range []int{http.StatusOK, http.StatusConflict} {
			t.Run(name+" with "+http.StatusText(code), func(t *testing.T) {
				if read(says(t, code, "application/json", endlessPod)) == nil {
					t.Error("the answer was decoded")
				}
			})
		}
	}
}

func TestFieldsOfAnAnswerAreReadWithoutItsQuantities(t *testing.T) {
	var pod struct{ Spec struct{ NodeName string } }
	if err := (Answer{Body: []byte(endlessPod)}).IntoFields("Pod", &pod); err != nil || pod.Spec.NodeName != "n" {
		t.Errorf("%+v, %v", pod, err)
	}
	err := (Answer{Body: []byte(endlessPod)}).IntoFields("Deployment", &pod)
	if err == nil || !strings.Contains(err.Error(), "is a Pod and not a Deployment") {
		t.Error(err)
	}
}

func TestTheKindsOfAnswersHaveNoQuantity(t *testing.T) {
	for gvk, kind := range answers.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && hasQuantity(kind, map[reflect.Type]bool{}) {
			t.Errorf("%s has a quantity", gvk)
		}
	}
	for _, object := range []runtime.Object{&corev1.Secret{}, &corev1.Namespace{}, &v1alpha1.Delivery{}, &v1alpha1.DeliveryList{}, &v1alpha1.Membership{}} {
		if _, _, err := answers.ObjectKinds(object); err != nil {
			t.Error(err)
		}
	}
	for _, object := range []runtime.Object{&corev1.Pod{}, &corev1.PodList{}, &corev1.Node{}, &corev1.PersistentVolumeClaim{}} {
		if _, _, err := answers.ObjectKinds(object); !runtime.IsNotRegisteredError(err) {
			t.Errorf("%T: %v", object, err)
		}
	}
}

func TestARefusalOfAMemberKeepsItsReason(t *testing.T) {
	conn := says(t, http.StatusConflict, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}`)
	if err := conn.GetClient().Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "a"}, &corev1.Secret{}); !apierrors.IsAlreadyExists(err) {
		t.Error(err)
	}
}
