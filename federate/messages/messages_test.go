// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestMessages(t *testing.T) {
	for name, tc := range map[string]struct{ got, want string }{
		"no name":                             {Few(nil, 2), ""},
		"as many names as fit":                {Few([]string{"a", "b"}, 2), "a, b"},
		"more names than fit":                 {Few([]string{"a", "b", "c", "d"}, 2), "a, b and 2 more"},
		"one cluster":                         {Count(1, "cluster"), "1 cluster"},
		"no cluster":                          {Count(0, "cluster"), "0 clusters"},
		"the command for a Federated":         {ApproveCommand(v1alpha1.KindFederated, "shop", "web"), "hostctl approve web -n shop"},
		"the command for a ClusterFederated":  {ApproveCommand(v1alpha1.KindClusterFederated, "", "fast"), "hostctl approve cfed/fast"},
		"the command that shows a rollout":    {StatusCommand(v1alpha1.KindFederated, "shop", "web"), "hostctl rollout status web -n shop"},
		"the command that lists kept objects": {KeptCommand(v1alpha1.KindFederated, "shop", "web"), "hostctl kept web -n shop"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got %q, want %q", tc.got, tc.want)
			}
		})
	}
}
