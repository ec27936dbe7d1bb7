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

// createOnly is the resourceVersion of a create-only apply. No object has this resourceVersion, because etcd numbers
// its first write 2. If the object is absent, the API server creates it. If the object exists, the API server answers
// 409 and changes nothing.
const createOnly = "1"

// applyUnlisted sends a create-only apply of an object that is most likely absent, so that the pass need not read the
// object first. If the apply succeeds, it.due is false afterwards. refusal is the API server's refusal of the apply.
// The caller then reads the object, because the refusal may be about an existing object of another client: admission
// runs before the API server checks the resourceVersion, so a webhook may have refused to change that object.
func (a *applier) applyUnlisted(ctx context.Context, it *item) (refusal, err error) {
	// Some objects must be read before they are created, and applyUnlisted does nothing for them:
	//   - a Namespace, because makeNamespace creates it with LabelMade, and an apply must not set that label;
	//   - an OperatorGroup or a Subscription (mayDisturb), because a new one may break other operators in the namespace;
	//   - an object of a kind that is not native, because its server may ignore the resourceVersion.
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

// isAboutObject reports whether the API server would give the same refusal to an ordinary apply of an absent object. A
// conflict is no such refusal: it means that an object exists. Nor is a message about the resourceVersion, because an
// ordinary apply does not send one.
func isAboutObject(refusal error) bool {
	return refusal != nil && !apierrors.IsConflict(refusal) && !strings.Contains(refusal.Error(), "resourceVersion")
}
