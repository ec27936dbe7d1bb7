// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

var deliveries = schema.GroupVersionResource{Group: v1alpha1.Group, Version: "v1alpha1", Resource: "deliveries"}

func deliveryPath(name string) []string {
	return member.Path(deliveries, v1alpha1.SystemNamespace, name)
}

// read gets the pair's Delivery. One of another wrapper of the same name counts as none when we are
// to leave: nothing there is ours.
func (p *pass) read(ctx context.Context) error {
	name := KeyOf(p.want.Wrapper).delivery()
	answer, err := member.Do(ctx, p.conn.REST().Get().AbsPath(deliveryPath(name)...), false)
	if apierrors.IsNotFound(err) {
		p.delivery = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Delivery %s on member %s: %w", name, p.conn.Name(), err)
	}
	found := &v1alpha1.Delivery{}
	if err := answer.Into(found); err != nil {
		return fmt.Errorf("reading Delivery %s on member %s: %w", name, p.conn.Name(), err)
	}
	if p.want.Leaving() && found.Spec.Wrapper.UID != p.want.Wrapper.UID {
		return nil
	}
	p.delivery = found
	return nil
}

// write makes the Delivery say spec, unless it does already. The resourceVersion read before goes
// along, so that two pushers cannot write over each other.
func (p *pass) write(ctx context.Context, spec v1alpha1.DeliverySpec) error {
	name := KeyOf(p.want.Wrapper).delivery()
	next := &v1alpha1.Delivery{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delivery"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name},
		Spec:       spec,
	}
	var req *rest.Request
	if p.delivery == nil {
		req = p.conn.REST().Post().AbsPath(member.Path(deliveries, v1alpha1.SystemNamespace, "")...)
	} else {
		next.ObjectMeta = *p.delivery.ObjectMeta.DeepCopy()
		next.ManagedFields = nil
		req = p.conn.REST().Put().AbsPath(deliveryPath(name)...)
	}
	body, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encoding Delivery %s: %w", name, err)
	}
	answer, err := member.Do(ctx, req.Param("fieldManager", v1alpha1.FieldManager).Body(body), false)
	if err != nil {
		return fmt.Errorf("writing Delivery %s on member %s: %w", name, p.conn.Name(), err)
	}
	written := &v1alpha1.Delivery{}
	if err := answer.Into(written); err != nil {
		return fmt.Errorf("writing Delivery %s on member %s: %w", name, p.conn.Name(), err)
	}
	p.delivery = written
	return nil
}

// withdraw deletes the Delivery of a pair that has been left.
func (p *pass) withdraw(ctx context.Context) error {
	if p.delivery == nil {
		return nil
	}
	err := deleteExactly(ctx, p.conn, deliveryPath(p.delivery.Name), metav1.Preconditions{
		UID: &p.delivery.UID, ResourceVersion: &p.delivery.ResourceVersion,
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("withdrawing Delivery %s on member %s: %w", p.delivery.Name, p.conn.Name(), err)
	}
	p.delivery = nil
	return nil
}

// deleteExactly deletes an object if it still is the one that is meant.
func deleteExactly(ctx context.Context, conn *member.Conn, path []string, only metav1.Preconditions) error {
	background := metav1.DeletePropagationBackground
	body, err := json.Marshal(&metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &only,
		PropagationPolicy: &background,
	})
	if err != nil {
		return fmt.Errorf("encoding DeleteOptions: %w", err)
	}
	_, err = member.Do(ctx, conn.REST().Delete().AbsPath(path...).Body(body), true)
	return err
}
