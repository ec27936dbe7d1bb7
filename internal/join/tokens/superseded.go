// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
)

// tokenKeys has the keys of the Secret at the host that hold tokens, with the account of each token.
var tokenKeys = map[string]string{v1alpha1.SecretToken: permissions.HostAccount, v1alpha1.SecretCollectorToken: permissions.CollectorAccount}

// supersede returns the new list of tokens to revoke in the Secret at the host (key SecretSuperseded). Revoke deletes the
// listed token Secrets after the new tokens have worked. The argument data is the present data of the Secret at the host,
// and the argument by is its new data.
//
// The new list has the lines of the present list, the token Secrets in lost, and those of the tokens that the new data
// replaces. If the new data has no token of an account, the list has no token Secret of that account. Either the join has
// deleted the account, or the host has no right to revoke the account's tokens.
func supersede(data, by map[string][]byte, lost []tokenSecret) []byte {
	lines := strings.Fields(string(data[v1alpha1.SecretSuperseded]))
	for _, s := range lost {
		lines = append(lines, s.String())
	}
	for key, account := range tokenKeys {
		if had, err := Read(string(data[key])); err == nil && had.secret.known() {
			lines = append(lines, had.secret.String())
		}
		now, err := Read(string(by[key]))
		lines = slices.DeleteFunc(lines, func(l string) bool {
			// A new token Secret can have a listed name only after the listed Secret of that name was deleted.
			return err == nil && strings.HasPrefix(l, now.secret.name+"/") || len(by[key]) == 0 && strings.HasPrefix(l, account+"-")
		})
	}
	return []byte(strings.Join(sorted(lines), "\n"))
}

// setSuperseded stores the list that supersede returns in the argument by, the new data of the Secret at the host. The
// argument lost has token Secrets on the member whose tokens the host does not have.
func setSuperseded(data, by map[string][]byte, lost ...tokenSecret) {
	if by[v1alpha1.SecretSuperseded] = supersede(data, by, lost); len(by[v1alpha1.SecretSuperseded]) == 0 {
		delete(by, v1alpha1.SecretSuperseded)
	}
}

// lostUID is the prefix of an invented uid for a token Secret, whose real uid the host has no right to read.
const lostUID = "lost-"

// withLost returns the Secret at the host with one more line in its list of tokens to revoke. The line has an invented uid,
// so it revokes nothing. It only changes the Secret, so that the write of a client that read the Secret earlier fails. The
// uid is new each time, because an update with equal content would not change the resourceVersion.
func withLost(secret *corev1.Secret, name string, now time.Time) *corev1.Secret {
	next := secret.DeepCopy()
	line := tokenSecret{name: name, uid: types.UID(fmt.Sprintf("%s%d", lostUID, now.UnixNano()))}
	earlier := func(l string) bool { return strings.HasPrefix(l, name+"/"+lostUID) } // matches the line of an earlier attempt, so that the list does not grow
	lines := slices.DeleteFunc(strings.Fields(string(secret.Data[v1alpha1.SecretSuperseded])), earlier)
	next.Data[v1alpha1.SecretSuperseded] = []byte(strings.Join(sorted(append(lines, line.String())), "\n"))
	return next
}

// Revoke revokes the tokens that newer tokens have replaced: it deletes the token Secrets that the Secret at the host
// lists. The client member has to use the host's present token, so that a deletion that succeeds proves that this token
// works. The collector's present token needs no such proof, because a join or Renew tried it before storing it.
func Revoke(ctx context.Context, host, member client.Client, secret *corev1.Secret) error {
	lines := strings.Fields(string(secret.Data[v1alpha1.SecretSuperseded]))
	if len(lines) == 0 {
		return nil
	}
	current, err := Read(string(secret.Data[v1alpha1.SecretToken]))
	if err != nil {
		return nil //nolint:nilerr // a person has put other credentials into the Secret, and other programs may still use the earlier tokens
	}
	collector, _ := Read(string(secret.Data[v1alpha1.SecretCollectorToken])) // without a token the result is the zero value
	var left []string
	var errs []error
	for _, line := range lines {
		name, uid, _ := strings.Cut(line, "/")
		old := tokenSecret{name: name, uid: types.UID(uid)}
		if !old.known() || old == current.secret || old == collector.secret {
			continue
		}
		// If the member refuses one deletion, Revoke still deletes the other token Secrets. A member that an older hostctl
		// joined may refuse the deletion of some of them.
		if err := dropTokenSecret(ctx, member, old); err != nil {
			left, errs = append(left, line), append(errs, err)
		}
	}
	if len(left) == len(lines) {
		return errors.Join(errs...)
	}
	next := secret.DeepCopy()
	if delete(next.Data, v1alpha1.SecretSuperseded); len(left) > 0 {
		next.Data[v1alpha1.SecretSuperseded] = []byte(strings.Join(left, "\n"))
	}
	if err := host.Update(ctx, next); err != nil {
		errs = append(errs, fmt.Errorf("recording in Secret %s that the earlier tokens are revoked: %w", secret.Name, err))
	}
	return errors.Join(errs...)
}

func sorted(lines []string) []string { return slices.Compact(slices.Sorted(slices.Values(lines))) }
