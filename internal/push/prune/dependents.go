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

// To find the objects whose deletion would delete a claim, the manager searches upward: from the claims to their
// owners, and on to the owners of these. The search needs one list of the claims' metadata in a pass, and one request
// for each owner. A search downward, from an object to everything that it owns, would need a list of every kind. If the
// manager cannot read an owner, that owner may be owned by any object. The manager then deletes only objects with the
// annotation keep: "false".

var claims = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// maxOwners bounds how many levels of owners above a claim the manager follows. Real claims have two or three.
const maxOwners = 16

// dependents is the result of the search from the claims to their owners.
type dependents struct {
	// claim has, by the uid of an object, the name of a claim that would be deleted with that object.
	claim map[types.UID]string
	// unread is the part of a message that names the first owner that the manager could not read. It is "" if the manager
	// read all owners, or could not list the claims.
	unread string
	// cause is the error of reading that owner, or of listing the claims; nil if the search is complete.
	cause error
}

// claimOwners searches for the owners of claims. It searches once in a pass.
type claimOwners struct {
	conn *member.Conn
	// namespace is the namespace of the claims; "" for the claims of all namespaces.
	namespace string
	// found is the result of the search; nil before the first call of lead.
	found *dependents
}

// lead returns the objects to which the ownerReferences of claims lead, directly or through other owners. The first
// call searches, and later calls return the same result. An error concerns the member as a whole.
func (c *claimOwners) lead(ctx context.Context) (*dependents, error) {
	if c.found != nil {
		return c.found, nil
	}
	found := &dependents{claim: make(map[types.UID]string)}
	err := member.EachMetadata(ctx, c.conn, member.Path(claims, c.namespace, ""), func(claim *metav1.PartialObjectMetadata) error {
		if claim.DeletionTimestamp != nil || claim.Annotations[v1alpha1.AnnotationKeep] == "false" {
			return nil // the claim is being deleted already, or its author allows the deletion
		}
		return c.follow(ctx, found, claim.Name, claim, 0)
	})
	switch {
	case err != nil && (memberapi.Answered(err) || errors.Is(err, member.ErrEndlessList)):
		found.cause = err
	case err != nil:
		return nil, fmt.Errorf("listing the PersistentVolumeClaims of member %s: %w", c.conn.Name(), err)
	}
	c.found = found
	return found, nil
}

// follow records the owners of an object, and then the owners of these owners. claim is the name of the claim from
// which the search came to the object.
func (c *claimOwners) follow(ctx context.Context, found *dependents, claim string, owned *metav1.PartialObjectMetadata, depth int) error {
	for _, ref := range owned.OwnerReferences {
		if ref.Kind == "Pod" && ref.APIVersion == "v1" {
			continue // an ephemeral volume of the Pod, or the claim of a scaled-away StatefulSet replica: it is deleted with that Pod anyway
		}
		if _, seen := found.claim[ref.UID]; seen {
			continue
		}
		found.claim[ref.UID] = claim
		owner, err := c.owner(ctx, owned.Namespace, ref)
		switch {
		case err == nil && depth == maxOwners:
			err = fmt.Errorf("the claim has more than %d owners above it, which is more than the manager follows", maxOwners)
			fallthrough
		case err != nil && (meta.IsNoMatchError(err) || memberapi.AnsweredAbout(groupOf(ref), err)):
			if found.cause == nil {
				found.unread, found.cause = fmt.Sprintf("the owners of %s %s, which owns claim %s, are unknown", ref.Kind, ref.Name, claim), err
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

// owner reads the object that an ownerReference names. It returns nil if that object is gone, because an absent object
// has no owners.
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
	gv, _ := schema.ParseGroupVersion(ref.APIVersion) // cannot fail here: owner has parsed the same apiVersion
	return gv.Group
}

// cannotKnow returns the trouble with an object that the manager does not delete, because it could not find out whether
// a claim would be deleted too.
func (d *dependents) cannotKnow(verb, object string) memberapi.Trouble {
	right := "get"
	if d.unread == "" {
		right = "list"
	}
	t := memberapi.ExplainWithout(right, verb, object, d.cause)
	unknown := "the manager could not list the PersistentVolumeClaims"
	if d.unread != "" {
		unknown = health.Clean(d.unread, 160)
	}
	t.Message += fmt.Sprintf("; the manager does not delete it as long as the deletion might also delete a claim (%s)", unknown)
	if verb != "replacing" { // the annotation keep: "false" does not concern a replacement
		t.Message += fmt.Sprintf("; to allow the deletion, annotate it %s: \"false\"", v1alpha1.AnnotationKeep)
	}
	t.Retry = plan.RetrySoon
	return t
}

// LostWith returns why the deletion of one of these objects would, or could, delete a claim of the namespace: the garbage collector
// deletes what an object owns. It returns "" if no claim's ownerReferences lead to one of them. An error concerns the member as a whole.
func LostWith(ctx context.Context, conn *member.Conn, namespace string, uids ...types.UID) (why string, err error) {
	known, err := (&claimOwners{conn: conn, namespace: namespace}).lead(ctx)
	if err != nil {
		return "", err
	}
	for _, uid := range uids {
		if claim, leads := known.claim[uid]; leads {
			return memberapi.Ref("PersistentVolumeClaim", health.Clean(claim, 64)) + " would be deleted with it, because the ownerReferences of the claim lead to it", nil
		}
	}
	if known.cause != nil {
		return known.cannotKnow("replacing", "the operator").Message, nil
	}
	return "", nil
}
