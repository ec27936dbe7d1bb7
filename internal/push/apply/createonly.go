// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// createOnly is the resourceVersion of a create-only apply. No object has it: etcd counts its first write as 2. The API
// server makes the object when there is none. Otherwise it answers 409 and changes nothing.
const createOnly = "1"

// applyUnlisted sends a create-only apply of an object that is most likely absent. So the manager need not look first.
// A successful apply resets due. refusal is any other answer of the API server. It need not be about this object:
// admission runs before the check of the resourceVersion, so a webhook may have refused the change of another client's
// object. A look finds out.
func (a *applier) applyUnlisted(ctx context.Context, it *item) (refusal, err error) {
	// A Namespace is created with LabelMade first, and never by an apply (makeNamespace). An object that may disturb its neighbours
	// needs the look: only where it is absent the neighbours count.
	if !it.unlisted || it.isNamespace() || mayDisturb(it) || !a.native.has(ctx, a.conn, it.groupKind(), it.entry.Resource) {
		return nil, nil
	}
	body, err := a.objects.stamped(it, "", createOnly)
	if err != nil {
		return nil, err
	}
	answer, err := member.Do(ctx, a.objects.request(it, body, false), true)
	switch {
	case err != nil && memberapi.AnsweredAbout(it.entry.Group, err):
		return err, nil
	case err != nil:
		return nil, fmt.Errorf("applying %s to member %s: %w", it, a.conn.Name(), err)
	case answer.Status != http.StatusCreated:
		a.native.doubt()
	}
	_, err = a.settle(ctx, it, answer)
	return nil, err
}

// isAboutObject reports whether the refusal of a create-only apply holds for the apply of an absent object too. A
// conflict says that there was an object, and a complaint about the resourceVersion is about the precondition.
func isAboutObject(refusal error) bool {
	return refusal != nil && !apierrors.IsConflict(refusal) && !strings.Contains(refusal.Error(), "resourceVersion")
}
