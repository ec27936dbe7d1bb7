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

// Some API servers issue tokens for at most an hour, and the clocks of host and member differ by more than that. By the
// host's clock, such a token would have expired already, or would never be due.
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
					t.Errorf("that the manager requested a new token is %t, want the opposite (%v)", asked, s.written())
				}
				if message := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionReady).Message; !strings.Contains(message,
					"the member's clock is 1h30m "+name) {
					t.Error(message)
				}
			})
		}
	}
}

func tokenFor(issued time.Time) string { return tokenBoundTo(issued, "", "") }

// tokenBoundTo returns a token that lives for an hour and is bound to a Secret.
func tokenBoundTo(issued time.Time, name, uid string) string {
	claims := fmt.Sprintf(`{"iat":%d,"exp":%d,"kubernetes.io":{"secret":{"name":%q,"uid":%q}}}`, issued.Unix(), issued.Add(time.Hour).Unix(), name, uid)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}
