// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Some API servers limit tokens to an hour. With a clock that is wrong by an hour, such a token seems expired at once,
// or never expires.
func TestATokenThatLivesForAnHourIsRenewedByTheMembersClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": 90 * time.Minute, "behind": -90 * time.Minute} {
		for age, renewed := range map[time.Duration]bool{10 * time.Minute: false, 50 * time.Minute: true} {
			t.Run(fmt.Sprintf("the member's is %s, and the token is %s old", name, age), func(t *testing.T) {
				s := newAPIServer(t, "member-uid")
				there := now.Add(ahead)
				s.joined, s.date, s.token = true, there, tokenFor(there)
				mc, secret := registration(s, "member-uid")
				secret.Data[v1alpha1.SecretToken] = []byte(tokenFor(there.Add(-age)))
				got := newLoop(t, mc, secret).settled(t)
				if asked := len(s.written()) > 0; asked != renewed {
					t.Errorf("asked for a new token: %t (%v)", asked, s.written())
				}
				if message := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionReady).Message; !strings.Contains(message,
					"its clock is 1h30m "+name) {
					t.Error(message)
				}
			})
		}
	}
}

func tokenFor(issued time.Time) string { return tokenBoundTo(issued, "", "") }

// tokenBoundTo is a token that lives for an hour, bound to a Secret.
func tokenBoundTo(issued time.Time, name, uid string) string {
	claims := fmt.Sprintf(`{"iat":%d,"exp":%d,"kubernetes.io":{"secret":{"name":%q,"uid":%q}}}`, issued.Unix(), issued.Add(time.Hour).Unix(), name, uid)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}
