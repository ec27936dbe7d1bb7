// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// judgePod judges a Pod by kstatus, unless the Pod has failed. kstatus calls a failed Pod current, because no controller works on it any
// more. But a person has to act, because its restartPolicy starts no container again.
func judgePod(pod *unstructured.Unstructured, now time.Time) Verdict {
	if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Failed" {
		return judgeGeneric(pod, now)
	}
	status, _, _ := unstructured.NestedMap(pod.Object, "status")
	if reason := text(status, "reason"); reason != "" { // an eviction, a deadline, a node that was lost
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

// killed is the exit code of a process that SIGKILL ended: 128 and the number of the signal.
const killed = 137

// meaningOf explains an exit code where the runtime's reason does not. On a node with cgroup v1 a runtime may report a container
// that ran out of memory with the reason Error.
func meaningOf(code int64, reason string) string {
	if code != killed || reason == "OOMKilled" {
		return ""
	}
	return ": SIGKILL ended it, for example because it used more memory than its limit or than the node had"
}
