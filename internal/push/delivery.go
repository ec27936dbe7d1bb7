// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// isSealed says whether the Delivery there is one that this host has written.
func (p *pass) isSealed() bool {
	return p.seals.Verify(p.delivery.Spec.Seal, &p.delivery.Spec.Wrapper, p.delivery.Spec.Target)
}

// read gets the pair's Delivery. One of another wrapper of the same name counts as none when we are
// to leave: nothing there is ours.
func (p *pass) read(ctx context.Context) error {
	if p.isNew && p.delivery == nil {
		return nil
	}
	name := KeyOf(p.want.Wrapper).Delivery()
	answer, err := member.Do(ctx, p.conn.REST().Get().AbsPath(deliveries.Path(name)...), false)
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
	if found.Name != name || found.UID == "" {
		return fmt.Errorf("reading Delivery %s on member %s: the answer is no Delivery: is spec.endpoint that of a Kubernetes API server?", name, p.conn.Name())
	}
	if p.want.Leaving() && found.Spec.Wrapper.UID != p.want.Wrapper.UID {
		return nil
	}
	p.delivery = found
	return nil
}

// write makes the Delivery say spec. The resourceVersion read before goes along, so that two pushers
// cannot write over each other; a status that the collector wrote meanwhile is read, and no conflict.
func (p *pass) write(ctx context.Context, spec v1alpha1.DeliverySpec) error {
	err := p.writeOnce(ctx, spec)
	for tries := 0; tries < looksAgain && apierrors.IsConflict(err) && p.standsAsKnown(ctx); tries++ {
		err = p.writeOnce(ctx, spec)
	}
	return err
}

// standsAsKnown reads the Delivery again, and says whether its spec still is the one that is known.
func (p *pass) standsAsKnown(ctx context.Context) bool {
	if p.delivery == nil {
		return false
	}
	known := p.delivery
	if err := p.read(ctx); err != nil || p.delivery == nil || p.delivery.UID != known.UID || p.delivery.Generation != known.Generation {
		p.delivery = known
		return false
	}
	return true
}

func (p *pass) writeOnce(ctx context.Context, spec v1alpha1.DeliverySpec) error {
	name := KeyOf(p.want.Wrapper).Delivery()
	next := &v1alpha1.Delivery{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delivery"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name},
		Spec:       spec,
	}
	var req *rest.Request
	if p.delivery == nil {
		req = p.conn.REST().Post().AbsPath(deliveries.Path("")...)
	} else {
		next.ObjectMeta = *p.delivery.ObjectMeta.DeepCopy()
		next.ManagedFields = nil
		req = p.conn.REST().Put().AbsPath(deliveries.Path(name)...)
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
	err := p.withdrawOnce(ctx)
	for tries := 0; tries < looksAgain && apierrors.IsConflict(err) && p.standsAsKnown(ctx); tries++ {
		err = p.withdrawOnce(ctx)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("withdrawing Delivery %s on member %s: %w", p.delivery.Name, p.conn.Name(), err)
	}
	p.delivery = nil
	return nil
}

func (p *pass) withdrawOnce(ctx context.Context) error {
	return deleteExactly(ctx, p.conn, deliveries.Path(p.delivery.Name), metav1.Preconditions{
		UID: &p.delivery.UID, ResourceVersion: &p.delivery.ResourceVersion,
	})
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
