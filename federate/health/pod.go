// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// judgePod judges a Pod by kstatus, unless the Pod has failed. kstatus calls a failed Pod current, because its state does
// not change again. But its containers do not start again, so a person has to act: judgePod calls it Degraded.
func judgePod(pod *unstructured.Unstructured, now time.Time) Verdict {
	if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Failed" {
		return judgeGeneric(pod, now)
	}
	status, _, _ := unstructured.NestedMap(pod.Object, "status")
	if reason := text(status, "reason"); reason != "" { // the whole Pod failed, for example because of an eviction, a deadline or a lost node
		return degraded(reason, "the Pod failed: "+text(status, "message"))
	}
	containers, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, c := range containers {
		container, ok := c.(map[string]any)
		if !ok {
			continue
		}
		ended, _, _ := unstructured.NestedMap(container, "state", "terminated")
		code, found, err := unstructured.NestedInt64(ended, "exitCode")
		if err != nil || !found || code == 0 {
			continue
		}
		return degraded(text(ended, "reason"), fmt.Sprintf("the Pod failed: its container %s ended with exit code %d (%s)%s", text(container, "name"), code,
			text(ended, "reason"), meaningOf(code, text(ended, "reason"))))
	}
	return degraded("PodFailed", "the Pod failed")
}

// killed is the exit code of a process that SIGKILL ended: 128 plus the signal's number 9.
const killed = 137

// meaningOf explains an exit code, if the reason does not explain it. On a node with cgroup v1, a runtime may give the
// reason Error to a container that ran out of memory.
func meaningOf(code int64, reason string) string {
	if code != killed || reason == "OOMKilled" {
		return ""
	}
	return ": SIGKILL ended it, for example because it used more memory than its limit or than the node had"
}
