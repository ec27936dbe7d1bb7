// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
)

// Troubled reports whether a wrapper needs attention: its description names a cause, or a person has to act. The caller must have called
// evidence.CleanStatus for the status.
func Troubled(w v1alpha1.Wrapper) (bool, error) {
	d, err := describe(w, nil)
	return err == nil && (len(d.Causes) > 0 || d.NeedsPerson), err
}

// Text returns what `hostctl describe` prints for a wrapper if standard output is no terminal. The caller has read the wrapper, and called
// evidence.CleanStatus for its status. Text reads events and MemberReports from the host; if it cannot, the text tells why.
func Text(ctx context.Context, host client.Client, w v1alpha1.Wrapper, now time.Time) (string, error) {
	d, err := describe(w, nil)
	if err != nil {
		return "", err
	}
	o := &Options{Target: evidence.Target{Kind: w.WrapperKind(), Namespace: w.GetNamespace(), Name: w.GetName()}}
	d.readEvidence(ctx, host, o, w)
	d.readEvents(ctx, host, w)
	return d.text(now, screen.Screen{}, false), nil
}
