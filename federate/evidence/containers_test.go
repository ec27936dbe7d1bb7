// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/federate/health"
)

// podsFrom decodes pods in the form of the Kubernetes API.
func podsFrom(t *testing.T, list string) (pods []*health.PodObject) {
	t.Helper()
	if err := json.Unmarshal([]byte(list), &pods); err != nil {
		t.Fatalf("%v in %s", err, list)
	}
	return pods
}

func TestTheContainersInTrouble(t *testing.T) {
	pod := func(statuses string) string {
		return `[{"metadata":{"namespace":"n","name":"web-1"},"status":{"containerStatuses":[` + statuses + `]}}]`
	}
	for name, test := range map[string]struct {
		pods string
		want []string
	}{
		"a container that is ready": {pod(`{"name":"app","ready":true,"state":{"running":{}}}`), nil},
		"a container that waits to be started again": {
			pod(`{"name":"app","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":2,"containerID":"x"}}}`),
			[]string{"web-1/app Waiting CrashLoopBackOff 4 log=true previous=false"}},
		"a container that has never run": {pod(`{"name":"app","state":{"waiting":{"reason":"ImagePullBackOff"}}}`), []string{"web-1/app Waiting ImagePullBackOff 0 log=false previous=false"}},
		"a container that runs again": {
			pod(`{"name":"app","restartCount":1,"state":{"running":{}},"lastState":{"terminated":{"exitCode":2,"containerID":"x"}}}`),
			[]string{"web-1/app Running  1 log=true previous=true"}},
		"a container that runs and is not ready": {pod(`{"name":"app","state":{"running":{}}}`), []string{"web-1/app Running  0 log=true previous=false"}},
		"a container that has ended again": {
			pod(`{"name":"app","restartCount":1,"state":{"terminated":{"exitCode":0,"reason":"Completed","containerID":"y"}},"lastState":{"terminated":{"exitCode":2,"containerID":"x"}}}`),
			[]string{"web-1/app Terminated Completed 1 log=true previous=true"}},
		"a container that could not be started again": {
			pod(`{"name":"app","state":{"terminated":{"exitCode":128,"reason":"StartError"}},"lastState":{"terminated":{"exitCode":2,"containerID":"x"}}}`),
			[]string{"web-1/app Terminated StartError 0 log=true previous=false"}},
		"a container without a state": {pod(`{"name":"app","restartCount":-3}`), []string{"web-1/app Waiting  0 log=false previous=false"}},
		"a container of a Job that has done its work, and one that has not": {
			`[{"metadata":{"name":"j"},"spec":{"restartPolicy":"Never"},"status":{"containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":0}}},{"name":"b","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]}}]`,
			[]string{"j/b Terminated Error 0 log=true previous=false"}},
		"containers that wait for an init container that crashes, on two pods": {
			`[{"metadata":{"name":"p"},"spec":{"initContainers":[{"name":"init"}]},"status":{"initContainerStatuses":[{"name":"init","state":{"running":{}}}],"containerStatuses":[{"name":"a","state":{"waiting":{"reason":"PodInitializing"}}}]}},
			  {"metadata":{"name":"q"},"spec":{"initContainers":[{"name":"init"}]},"status":{"initContainerStatuses":[{"name":"init","state":{"terminated":{"exitCode":1,"reason":"Error","containerID":"x"}}}],"containerStatuses":[{"name":"a","state":{"waiting":{"reason":"PodInitializing"}}}]}}]`,
			[]string{"q/init Terminated Error 0 log=true previous=false", "p/init Running  0 log=true previous=false", "p/a Waiting PodInitializing 0 log=false previous=false", "q/a Waiting PodInitializing 0 log=false previous=false"}},
		"a container on a node that does not answer": {
			`[{"metadata":{"name":"p"},"status":{"conditions":[{"type":"Ready","status":"False","reason":"NodeNotReady"}],"containerStatuses":[{"name":"a","state":{"running":{}}}]}}]`,
			[]string{"p/a Running  0 log=false previous=false"}},
	} {
		var got []string
		for _, c := range Pick(podsFrom(t, test.pods)) {
			got = append(got, fmt.Sprintf("%s/%s %s %s %d log=%t previous=%t", c.Pod, c.Name, c.State, c.Reason, c.Restarts, c.HasLog, c.HasPreviousLog))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNoMoreThanEightContainersArePicked(t *testing.T) {
	var statuses []string
	for i := range 20 {
		statuses = append(statuses, fmt.Sprintf(`{"name":"c-%d","state":{"waiting":{}}}`, i))
	}
	if got := Pick(podsFrom(t, `[{"metadata":{"name":"p"},"status":{"containerStatuses":[`+strings.Join(statuses, ",")+`]}}]`)); len(got) != MaxContainers {
		t.Errorf("%d containers", len(got))
	}
}

func TestLogsAreRedactedAndCut(t *testing.T) {
	long := strings.Repeat("one line of the log of a container\n", 200)
	const kubelet = "unable to retrieve container logs for containerd://x"
	e := Of(nil, []Container{
		{Pod: "p", Name: "a", State: StateRunning, Log: "\x1b[31mpass\x1b[0mword=CANARY-hunter2\r\n\tat x\x00\n\n", PreviousLog: long + "the end\n"},
		{Pod: "p", Name: "b", State: StateRunning, Log: long + "the end\n", PreviousLog: kubelet},
		{Pod: "p", Name: "c", State: StateRunning, Log: strings.Repeat("ö", maxLog)},
	})
	logs := 0
	for _, c := range e.Containers {
		for _, log := range []string{c.Log, c.PreviousLog} {
			logs += len(log)
			if len(log) > maxLog {
				t.Errorf("a log has %d bytes", len(log))
			}
		}
	}
	if logs > MaxLogs {
		t.Errorf("all logs have %d bytes", logs)
	}
	a, b, c := e.Containers[0], e.Containers[1], e.Containers[2]
	if diff := cmp.Diff("password=[redacted]\n\tat x", a.Log); diff != "" {
		t.Error(diff)
	}
	for _, log := range []string{a.PreviousLog, b.Log} {
		if !strings.HasPrefix(log, "one line of") || !strings.HasSuffix(log, "a container\nthe end") || len(log) < MaxLogs/3-100 {
			t.Errorf("the cut log is %q", log)
		}
	}
	if b.PreviousLog != "" {
		t.Errorf("the kubelet's refusal is a log: %q", b.PreviousLog)
	}
	if strings.Trim(c.Log, "ö") != "" || len(c.Log) < MaxLogs/3-100 {
		t.Errorf("the log of one long line is %q", c.Log)
	}
}
