// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// pod decodes a pod. The statuses in these tests are those that kubelets of Kubernetes 1.30 to 1.36 write.
func pod(t *testing.T, text string) health.PodObject {
	t.Helper()
	var p health.PodObject
	if err := yaml.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return p
}

// deployment is a Deployment none of whose pods is ready.
const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 1}
spec: {replicas: 2}
status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, unavailableReplicas: 2}
`

const (
	crashing = `{metadata: {name: web-a, creationTimestamp: "2026-03-01T11:00:00Z"}, status: {phase: Running, containerStatuses: [
  {name: app, image: web:1, imageID: x, ready: false, restartCount: 3, state: STATE, lastState: {terminated: {exitCode: 1, reason: Error, finishedAt: "2026-03-01T11:55:00Z"}}}]}}`
	unpullable = `{metadata: {name: web-b, creationTimestamp: "2026-03-01T11:00:01Z"}, status: {phase: Pending, containerStatuses: [
  {name: app, image: "shop/web:9", imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: REASON, message: 'MESSAGE'}}}]}}`
	ready = `{metadata: {name: web-c}, status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [
  {name: app, image: web:1, imageID: x, ready: true, restartCount: 7, state: {running: {startedAt: "2026-03-01T11:59:00Z"}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}}`
	unready = `{metadata: {name: web-d}, status: {phase: Running, containerStatuses: [
  {name: app, image: web:1, imageID: x, ready: false, restartCount: 0, state: {running: {startedAt: "2026-03-01T11:59:00Z"}}}]}}`
	pendingPod = `{metadata: {name: web-e}, status: {phase: Pending, conditions: [
  {type: PodScheduled, status: "False", reason: Unschedulable, message: "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."}]}}`
	starting = `{metadata: {name: web-f}, status: {phase: Pending, containerStatuses: [
  {name: app, image: web:1, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}}]}}`
)

func inState(state string) string { return strings.Replace(crashing, "STATE", state, 1) }

func waitingFor(reason, message string) string {
	return strings.NewReplacer("REASON", reason, "MESSAGE", message).Replace(unpullable)
}

// told returns what Tell returns at the second observation of a trouble, when the object's line already has the reason from the first.
func told(trouble *health.Trouble, event health.Warning, log string) *health.Explanation {
	if trouble == nil {
		return nil
	}
	first := trouble.Tell(event.Reason, event.Message, log, nil)
	if first == nil {
		return nil
	}
	return trouble.Tell(event.Reason, event.Message, log, &v1alpha1.ObjectStatus{Health: v1alpha1.Progressing, Reason: first.Reason})
}

func TestTheFirstCauseAmongPodsIsTold(t *testing.T) {
	backOff := `{waiting: {reason: CrashLoopBackOff, message: "back-off 40s restarting failed container=app"}}`
	const degraded, progressing = v1alpha1.Degraded, v1alpha1.Progressing
	tests := map[string]struct {
		pods    []string
		event   health.Warning // about the pod
		log     string
		health  v1alpha1.Health
		reason  string
		message string
	}{
		"an image that cannot be pulled, at the first try": {
			pods:   []string{waitingFor("ErrImagePull", `failed to pull and unpack image "shop/web:9": not found`)},
			health: degraded, reason: "ImagePullBackOff",
			message: `pod web-b: container app: its image shop/web:9 cannot be pulled: failed to pull and unpack image "shop/web:9": not found`,
		},
		"an image that cannot be pulled, between two tries": {
			pods:   []string{waitingFor("ImagePullBackOff", `Back-off pulling image "shop/web:9": ErrImagePull: failed to pull and unpack image "shop/web:9": not found`)},
			health: degraded, reason: "ImagePullBackOff",
			message: `pod web-b: container app: its image shop/web:9 cannot be pulled: failed to pull and unpack image "shop/web:9": not found`,
		},
		"a registry that does not answer, between two tries": {
			pods:   []string{waitingFor("ImagePullBackOff", `Back-off pulling image "shop/web:9": RegistryUnavailable: connection refused`)},
			health: degraded, reason: "ImagePullBackOff", message: "pod web-b: container app: its image shop/web:9 cannot be pulled: connection refused",
		},
		"an image that cannot be pulled, between two tries, on Kubernetes 1.30": {
			pods: []string{waitingFor("ImagePullBackOff", `Back-off pulling image "shop/web:9"`)}, event: health.Warning{Reason: "Failed", Message: "Failed to pull image: not found"},
			health: degraded, reason: "ImagePullBackOff", message: "pod web-b: container app: its image shop/web:9 cannot be pulled: Failed to pull image: not found",
		},
		"a Secret that does not exist": {
			pods:   []string{waitingFor("CreateContainerConfigError", `secret "db" not found`)},
			health: degraded, reason: "CreateContainerConfigError", message: `pod web-b: container app does not start: secret "db" not found`,
		},
		"a container that crashes, between two starts": {
			pods: []string{inState(backOff)}, log: "panic: no database\n",
			health: degraded, reason: "CrashLoopBackOff", message: "pod web-a: container app ended with exit code 1 (Error) after 3 restarts; from its log: panic: no database",
		},
		"a container that runs again after a crash": {
			pods:   []string{inState(`{running: {startedAt: "2026-03-01T11:59:00Z"}}`)},
			health: progressing, reason: "CrashLoopBackOff", message: "pod web-a: container app ended with exit code 1 (Error) after 3 restarts",
		},
		"a container that crashed long ago, and is not ready now": {
			pods:   []string{inState(`{running: {startedAt: "2026-03-01T11:30:00Z"}}`)},
			health: progressing, reason: "PodNotReady", message: "pod web-a: container app runs and is not ready",
		},
		"a container that ended with its node": {
			pods:   []string{strings.Replace(inState(`{running: {startedAt: "2026-03-01T11:59:00Z"}}`), "reason: Error", "reason: Unknown", 1)},
			health: progressing, reason: "PodNotReady", message: "pod web-a: container app runs and is not ready",
		},
		"a container that waits for its sandbox after a restart of the node": {
			pods: []string{inState(`{waiting: {reason: ContainerCreating}}`)}, health: progressing, reason: "LessAvailable",
		},
		"a container that crashed once may only have waited for another program": {
			pods:   []string{strings.Replace(inState(backOff), "restartCount: 3", "restartCount: 1", 1)},
			health: progressing, reason: "CrashLoopBackOff", message: "pod web-a: container app ended with exit code 1 (Error) after 1 restart",
		},
		"a program that cannot be started, in both of its states": {
			pods: []string{inState(`{waiting: {reason: RunContainerError, message: "exec: not found"}}`)}, health: degraded, reason: "CrashLoopBackOff",
			message: "pod web-a: container app ended with exit code 1 (Error) after 3 restarts",
		},
		"a container that leaves a termination message": {
			pods:   []string{strings.Replace(inState(backOff), "reason: Error,", `reason: Error, message: "starting\nfatal: cannot log in: password=hunter2x\n",`, 1)},
			health: degraded, reason: "CrashLoopBackOff",
			message: "pod web-a: container app ended with exit code 1 (Error) after 3 restarts; from its termination message: fatal: cannot log in: password=[redacted]",
		},
		"a container that ran out of memory": {
			pods: []string{strings.Replace(`{spec: {containers: [{name: app, resources: {limits: {memory: 64Mi}}}]}, `+inState(backOff)[1:],
				"exitCode: 1, reason: Error", "exitCode: 137, reason: OOMKilled", 1)},
			health: degraded, reason: "OOMKilled", message: "pod web-a: container app used more memory than its limit of 64Mi and was killed after 3 restarts",
		},
		"a limit that no Go program could decode as a quantity": {
			pods: []string{strings.Replace(`{spec: {containers: [{name: app, resources: {limits: {memory: "1e-2000000000"}}}]}, `+inState(backOff)[1:],
				"exitCode: 1, reason: Error", "exitCode: 137, reason: OOMKilled", 1)},
			health: degraded, reason: "OOMKilled", message: "pod web-a: container app used more memory than its limit of 1e-2000000000 and was killed after 3 restarts",
		},
		"a pod that no node can take": {
			pods: []string{pendingPod}, health: progressing, reason: "Unschedulable", message: "pod web-e: it cannot be scheduled: 0/2 nodes are available: 2 Insufficient cpu.",
		},
		"a container that is never ready": {
			pods: []string{ready, unready}, event: health.Warning{Reason: "Unhealthy", Message: "Readiness probe failed: HTTP probe failed with statuscode: 500"},
			health: progressing, reason: "PodNotReady",
			message: "pod web-d: container app runs and is not ready: Readiness probe failed: HTTP probe failed with statuscode: 500",
		},
		"a readiness gate": {
			pods: []string{`{metadata: {name: web-h}, status: {phase: Running, conditions: [{type: Ready, status: "False", reason: ReadinessGatesNotReady, message: 'corresponding condition of pod readiness gate "x" does not exist.'}],
  containerStatuses: [{name: app, ready: true, state: {running: {}}}]}}`},
			health: progressing, reason: "PodNotReady", message: `pod web-h: it is not ready (ReadinessGatesNotReady): corresponding condition of pod readiness gate "x" does not exist.`,
		},
		"an init container that does not finish": {
			pods: []string{`{metadata: {name: web-i}, spec: {initContainers: [{name: wait}]}, status: {phase: Pending, initContainerStatuses: [{name: wait, state: {running: {startedAt: "2026-03-01T11:30:00Z"}}}],
  containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}}`},
			health: progressing, reason: "PodNotReady", message: "pod web-i: init container wait has not finished",
		},
		"a container that waits for its volume": {
			pods: []string{starting}, event: health.Warning{Reason: "FailedMount", Message: `MountVolume.SetUp failed for volume "data"`},
			health: progressing, reason: "FailedMount", message: `pod web-f: container app has not started: MountVolume.SetUp failed for volume "data"`,
		},
		"a container that starts as usual": {pods: []string{starting}, health: progressing, reason: "LessAvailable"},
		"an image comes before a crash, and a crash before a pod that is not ready": {
			pods:   []string{unready, inState(backOff), pendingPod, waitingFor("ErrImagePull", "not found"), ready},
			health: degraded, reason: "ImagePullBackOff", message: "pod web-b: container app: its image shop/web:9 cannot be pulled: not found",
		},
		"several pods with the same cause are counted": {
			pods:   []string{strings.Replace(inState(backOff), "web-a", "web-z", 1), ready, inState(backOff), unready},
			health: degraded, reason: "CrashLoopBackOff", message: "2 of 4 pods, for example web-a: container app ended with exit code 1 (Error) after 3 restarts",
		},
		"a pod that is being deleted does not count": {
			pods:   []string{strings.Replace(inState(backOff), "name: web-a", `name: web-a, deletionTimestamp: "2026-03-01T11:00:00Z"`, 1)},
			health: progressing, reason: "LessAvailable",
		},
		"an evicted pod": {
			pods:   []string{`{metadata: {name: web-g}, status: {phase: Failed, reason: Evicted, message: The node was low on memory.}}`},
			health: degraded, reason: "Evicted", message: "pod web-g: it failed: The node was low on memory.",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var pods []health.PodObject
			for _, text := range tt.pods {
				pods = append(pods, pod(t, text))
			}
			got := health.Judge(object(t, deployment), health.Related{Explanation: told(health.FirstTrouble(pods, now), tt.event, tt.log)}, now)
			want := health.Verdict{Health: tt.health, Reason: tt.reason, Message: "Available: 0/2"}
			if tt.message != "" {
				want.Message = tt.message + "; " + want.Message
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACauseMakesTheObjectDegradedWhenASecondLookFindsItToo(t *testing.T) {
	trouble := func(state string) *health.Trouble {
		return health.FirstTrouble([]health.PodObject{pod(t, inState(state))}, now)
	}
	waits, runs := trouble("{waiting: {reason: CrashLoopBackOff}}"), trouble(`{running: {startedAt: "2026-03-01T11:59:00Z"}}`)
	memory := health.FirstTrouble([]health.PodObject{pod(t, strings.Replace(inState(`{running: {startedAt: "2026-03-01T11:59:00Z"}}`), "reason: Error", "reason: OOMKilled", 1))}, now)
	line := func(h v1alpha1.Health, reason string) *v1alpha1.ObjectStatus {
		return &v1alpha1.ObjectStatus{Health: h, Reason: reason}
	}
	for name, tt := range map[string]struct {
		trouble *health.Trouble
		line    *v1alpha1.ObjectStatus
		want    bool
	}{
		"at the first look":           {waits, nil, false},
		"the line has another reason": {waits, line(v1alpha1.Degraded, "Unschedulable"), false},
		"at the second look":          {waits, line(v1alpha1.Progressing, "CrashLoopBackOff"), true},
		"a container that runs again": {runs, line(v1alpha1.Progressing, "CrashLoopBackOff"), false},
		"a container that was killed for its memory, and runs again": {memory, line(v1alpha1.Degraded, "OOMKilled"), true},
		"a container that runs again, and was Degraded a moment":     {runs, line(v1alpha1.Degraded, "CrashLoopBackOff"), true},
	} {
		if got := tt.trouble.Tell("", "", "", tt.line); got.Failing != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOnlyTheFirstContainersOfAPodCount(t *testing.T) {
	crash := pod(t, inState("{waiting: {reason: CrashLoopBackOff}}"))
	p := pod(t, `{metadata: {name: web}, status: {phase: Running}}`)
	for range 64 {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, pod(t, ready).Status.ContainerStatuses...)
	}
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, crash.Status.ContainerStatuses...)
	if got := health.FirstTrouble([]health.PodObject{p}, now); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestAHealthyWorkloadIsNotJudgedByItsPods(t *testing.T) {
	cause := &health.Explanation{Reason: "CrashLoopBackOff", Sentence: "pod web-a crashes", Failing: true}
	for name, change := range map[string]func(string) string{
		"available": func(s string) string {
			return strings.Replace(s, "unavailableReplicas: 2", `readyReplicas: 2, availableReplicas: 2, conditions: [{type: Available, status: "True"}]`, 1)
		},
		"being deleted": func(s string) string {
			return strings.Replace(s, "{name: web,", `{name: web, deletionTimestamp: "`+ago(time.Second)+`",`, 1)
		},
	} {
		got := health.Judge(object(t, change(deployment)), health.Related{Explanation: cause}, now)
		if got.Reason == "CrashLoopBackOff" || strings.Contains(got.Message, "web-a") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestASubscriptionIsJudgedByItsPodsOnlyWhileItsCSVInstalls(t *testing.T) {
	cause := &health.Explanation{Reason: "CrashLoopBackOff", Sentence: "pod op-a crashes", Failing: true}
	sub := object(t, "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: op}\nstatus: {installedCSV: op.v1, currentCSV: op.v1}")
	for phase, want := range map[string]string{"Installing": "CrashLoopBackOff", "Failed": "CrashLoopBackOff", "Succeeded": ""} {
		csv := object(t, "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: op.v1}\nspec: {install: {spec: {deployments: [{name: op}]}}}\nstatus: {phase: "+phase+"}")
		if got := health.Judge(sub, health.Related{CSV: csv, OperatorGroups: 1, Explanation: cause}, now); got.Reason != want {
			t.Errorf("%s: %+v", phase, got)
		}
	}
}

func TestAControllerThatCannotCreatePods(t *testing.T) {
	const quota = `pods "web-x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0`
	failing := strings.Replace(deployment, "unavailableReplicas: 2", `unavailableReplicas: 2, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: '`+quota+`'}]`, 1)
	stateful := "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, generation: 1}\nspec: {replicas: 2}\nstatus: {observedGeneration: 1, replicas: 1}"
	warning := &health.Warning{Reason: "FailedCreate", Message: quota, At: now.Add(-time.Minute)}
	for name, tt := range map[string]struct {
		object  string
		warning *health.Warning
		newest  time.Time
		want    bool
	}{
		"a Deployment whose controller says so":             {object: failing, want: true},
		"a StatefulSet without pods":                        {object: stateful, warning: warning, want: true},
		"a StatefulSet whose pods are older than the event": {object: stateful, warning: warning, newest: now.Add(-time.Hour), want: true},
		"a StatefulSet, and an old event":                   {object: stateful, warning: &health.Warning{Reason: "FailedCreate", Message: quota, At: now.Add(-time.Hour)}},
		"a Deployment whose controller cannot delete":       {object: strings.Replace(failing, "FailedCreate", "FailedDelete", 1)},
		"a StatefulSet that has got a pod since":            {object: stateful, warning: warning, newest: now.Add(-time.Second)},
		"a Deployment whose controller can":                 {object: deployment, warning: warning},
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, tt.object)
			trouble := health.CannotCreate(obj, tt.warning, tt.newest, now)
			if (trouble != nil) != tt.want {
				t.Fatalf("%+v", trouble)
			}
			if trouble == nil {
				return
			}
			got := health.Judge(obj, health.Related{Warning: tt.warning, Explanation: told(trouble, health.Warning{}, "")}, now)
			if got.Health != v1alpha1.Degraded || got.Reason != "FailedCreate" || !strings.HasPrefix(got.Message, "its pods cannot be created: "+quota+"; ") || strings.Count(got.Message, quota) != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestTextsOfAMemberAreRedactedBeforeTheyAreCut(t *testing.T) {
	secret := "password=CANARYhunter2x7Jq9"
	for name, message := range map[string]string{
		"colored":     "login with \x1b[31mpassword\x1b[0m=CANARYhunter2x7Jq9 failed",
		"at the cut":  strings.Repeat("a", 1024-len(secret)/2) + " " + secret,
		"very long":   strings.Repeat("a b ", 1<<20) + secret,
		"in an event": "cannot pull with " + secret,
	} {
		got := health.Judge(object(t, deployment), health.Related{Warning: &health.Warning{Reason: "Failed", Message: message}}, now)
		if strings.Contains(got.Message, "CANARY") || len(got.Message) > health.MaxMessage {
			t.Errorf("%s: %q", name, got.Message)
		}
	}
}

func TestWherePodsMayNotBeReadTheWayOutIsTold(t *testing.T) {
	got := health.Judge(object(t, deployment), health.Related{PodsRefused: true}, now)
	if want := "Available: 0/2: the collector may not read the pods; run `hostctl join` for this member again"; got.Message != want {
		t.Errorf("%q", got.Message)
	}
}

func TestAMessageWithoutTheWordsOfItsProgram(t *testing.T) {
	for message, want := range map[string]string{
		"pod web-a: container app ended with exit code 1; from its log: panic: a; from b; Available: 0/2": "pod web-a: container app ended with exit code 1",
		"it ended; from its termination message: no license":                                              "it ended",
		"0/2 nodes are available; Available: 0/2":                                                         "0/2 nodes are available; Available: 0/2",
		"": "",
	} {
		if got := health.WithoutLog(message); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}

// Tell writes the words of a program so that WithoutLog finds them.
func TestTheWordsOfAProgramAreFoundInTheSentence(t *testing.T) {
	crash := strings.Replace(inState("{waiting: {reason: CrashLoopBackOff}}"), "restartCount: 3", "restartCount: 2", 1)
	for name, test := range map[string]struct{ pod, log string }{
		"from the log":                 {crash, "panic: order 7f3a"},
		"from the termination message": {strings.Replace(crash, "reason: Error,", `reason: Error, message: "panic: order 7f3a",`, 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			is := health.FirstTrouble([]health.PodObject{pod(t, test.pod)}, now).Tell("", "", test.log, nil)
			if want := "pod web-a: container app ended with exit code 1 (Error) after 2 restarts"; health.WithoutLog(is.Sentence) != want {
				t.Errorf("of %q, %q is left", is.Sentence, health.WithoutLog(is.Sentence))
			}
		})
	}
}

func TestTheLastWordsOfALog(t *testing.T) {
	for name, tt := range map[string]struct{ log, want string }{
		"nothing":                             {"\n \n", ""},
		"the last line":                       {"starting\nstopping\n", "stopping"},
		"an error above a stack trace":        {"starting\npanic: no database\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:9 +0x1d\nexit status 2\n", "panic: no database"},
		"an exception above its frames":       {"java.lang.IllegalStateException: no port\n\tat com.example.Main.main(Main.java:3)\n", "java.lang.IllegalStateException: no port"},
		"an error in JSON":                    {`{"level":"error","msg":"listen"}` + "\nbye", `{"level":"error","msg":"listen"}`},
		"the last of two errors":              {"error: a\nerror: b\nbye", "error: b"},
		"a log that the kubelet has deleted":  {"unable to retrieve container logs for containerd://1", ""},
		"a very long log":                     {strings.Repeat("error: early\n", 1<<16) + "fatal: late\n" + strings.Repeat("x\n", 100), "fatal: late"},
		"a secret":                            {"error: login with password=hunter2 refused", "error: login with password=[redacted] refused"},
		"characters that a terminal executes": {"fatal: \x1b[31mred\x07", "fatal: red"},
		"a long line":                         {"fatal: " + strings.Repeat("ab ", 200), "fatal: " + strings.Repeat("ab ", 49) + "ab…"},
	} {
		if got := health.LastWords(tt.log); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func FuzzFirstTrouble(f *testing.F) {
	for _, text := range []string{inState("{running: {}}"), waitingFor("ErrImagePull", "x"), ready, unready, pendingPod, starting} {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, "Failed", "message", "log")
	}
	f.Fuzz(func(t *testing.T, raw []byte, reason, message, log string) {
		var p health.PodObject
		if json.Unmarshal(raw, &p) != nil {
			return
		}
		trouble := health.FirstTrouble([]health.PodObject{p}, now)
		if trouble == nil {
			return
		}
		if e := trouble.Tell(reason, message, log, nil); e != nil && (e.Failing || len(e.Reason) > 64 || len(e.Sentence) > health.MaxMessage || e.Sentence != health.Clean(e.Sentence, health.MaxMessage)) {
			t.Errorf("%+v", e)
		}
	})
}
