// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// Why it is so: data depends on claims, and there are few of them, so the search starts at the claims. It takes one
// list of metadata a pass, and one request for each owner. A search downward, from an object to all that it owns, would
// need a list of every kind. An owner that cannot be read may lead to any object. Then the manager deletes no object,
// except for those that the author released from this.

var claims = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// maxOwners is how many owners above a claim are followed. Real chains have two or three.
const maxOwners = 16

// dependents is the result of the search from the claims to their owners.
type dependents struct {
	// claim names a claim that would be deleted with an object, by the object's uid.
	claim map[types.UID]string
	// unread is an owner that could not be read: its own owners may have claims too. cause is the reason. unread is
	// "" if the claims could not be listed at all.
	unread string
	cause  error
}

// claimOwners finds the owners of the claims in the wrapper's namespace, or in all namespaces.
type claimOwners struct {
	conn *member.Conn
	// namespace is the wrapper's; "" asks for the claims of all namespaces.
	namespace string
	// found is nil until lead is called.
	found *dependents
}

// lead finds, once in a pass, the objects that the claims lead to. An error concerns the member as a whole.
func (c *claimOwners) lead(ctx context.Context) (*dependents, error) {
	if c.found != nil {
		return c.found, nil
	}
	found := &dependents{claim: make(map[types.UID]string)}
	err := member.EachMetadata(ctx, c.conn, member.Path(claims, c.namespace, ""), func(claim *metav1.PartialObjectMetadata) error {
		if claim.DeletionTimestamp != nil || claim.Annotations[v1alpha1.AnnotationKeep] == "false" {
			return nil // it is being deleted already, or its author allows that
		}
		return c.follow(ctx, found, claim.Name, claim, 0)
	})
	switch {
	case err != nil && (memberapi.Answered(err) || errors.Is(err, member.ErrEndlessList)):
		found.cause = err
	case err != nil:
		return nil, fmt.Errorf("listing the claims of member %s: %w", c.conn.Name(), err)
	}
	c.found = found
	return found, nil
}

// follow notes the owner of an object that a claim has led to, and the owners of that owner.
func (c *claimOwners) follow(ctx context.Context, found *dependents, claim string, owned *metav1.PartialObjectMetadata, depth int) error {
	for _, ref := range owned.OwnerReferences {
		if ref.Kind == "Pod" && ref.APIVersion == "v1" {
			continue // an ephemeral volume, or a replica that is scaled away: it is deleted with that Pod anyway
		}
		if _, seen := found.claim[ref.UID]; seen {
			continue
		}
		found.claim[ref.UID] = claim
		owner, err := c.owner(ctx, owned.Namespace, ref)
		switch {
		case err == nil && depth == maxOwners:
			err = fmt.Errorf("it is the %dth owner above that claim", maxOwners)
			fallthrough
		case err != nil && (meta.IsNoMatchError(err) || memberapi.AnsweredAbout(groupOf(ref), err)):
			if found.cause == nil {
				found.unread, found.cause = fmt.Sprintf("claim %s belongs to %s", claim, ref.Kind+" "+ref.Name), err
			}
		case err != nil:
			return err
		case owner != nil:
			if err := c.follow(ctx, found, claim, owner, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// owner reads the object that an ownerReference names; nil when it is gone, and then the chain ends.
func (c *claimOwners) owner(ctx context.Context, namespace string, ref metav1.OwnerReference) (*metav1.PartialObjectMetadata, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, nil //nolint:nilerr // the garbage collector cannot read it either
	}
	gk := schema.GroupKind{Group: gv.Group, Kind: ref.Kind}
	mapping, err := c.conn.Mapping(ctx, gk, gv.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		namespace = ""
	} else if namespace == "" {
		return nil, nil // a cluster-scoped object has no namespaced owner
	}
	owner, err := memberapi.Metadata(ctx, c.conn, member.Path(mapping.Resource, namespace, ref.Name))
	switch {
	case memberapi.IsPathGone(err):
		c.conn.DoubtMapping(gk)
		return nil, err
	case apierrors.IsNotFound(err) || err == nil && owner.UID != ref.UID:
		return nil, nil
	}
	return owner, err
}

func groupOf(ref metav1.OwnerReference) string {
	gv, _ := schema.ParseGroupVersion(ref.APIVersion) // owner reads no object of an apiVersion that cannot be parsed
	return gv.Group
}

// cannotKnow is the trouble for an object if it is unknown whether its deletion would delete a claim.
func (d *dependents) cannotKnow(verb, object string) memberapi.Trouble {
	right := "get"
	if d.unread == "" {
		right = "list"
	}
	t := memberapi.ExplainWithout(right, verb, object, d.cause)
	cause := "the claims cannot be listed"
	if d.unread != "" {
		cause = health.Clean(d.unread, 80)
	}
	t.Message += fmt.Sprintf("; the manager deletes nothing while a claim might be deleted with it (%s)", cause)
	if verb != "replacing" { // its annotation allows the replacement only
		t.Message += fmt.Sprintf("; to allow that, annotate it %s: \"false\"", v1alpha1.AnnotationKeep)
	}
	t.Retry = plan.RetrySoon
	return t
}
