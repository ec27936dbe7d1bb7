// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"errors"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsTransient reports whether the same request may succeed later. The host may be restarting, for example.
func IsTransient(err error) bool {
	network := (*url.Error)(nil)
	return errors.As(err, &network) && !errors.Is(err, context.Canceled) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err)
}
