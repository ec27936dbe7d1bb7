// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxWords is the largest number of bytes that a message quotes from an API server's error. Without this bound, a message
// about a refused role would list every rule of the role.
const maxWords = 400

// explainGrant turns a Forbidden error for a role or binding into a GrantError.
func explainGrant(err error, cluster string) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	words := err.Error()
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + " …"
	}
	return &GrantError{Cluster: cluster, words: words, err: err}
}

// GrantError means that the API server forbids the user who joins the cluster to grant a right on the member. Kubernetes
// lets users grant only rights that they have.
type GrantError struct {
	Cluster string
	words   string
	err     error
}

func (e *GrantError) Error() string {
	return fmt.Sprintf("granting rights on %s: the user of the cluster's kubeconfig must hold every right that the join grants to the host. "+
		"Use a kubeconfig with cluster-admin rights there (--cluster-kubeconfig), or allow less (--allow). Kubernetes says: %s", e.Cluster, e.words)
}

// Unwrap returns the API server's error.
func (e *GrantError) Unwrap() error { return e.err }
