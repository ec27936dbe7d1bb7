// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

const settles = "its controller has written no status for the present spec yet"

// greeting returns a custom resource with this status, which the manager applied some seconds ago.
func greeting(status string) string {
	return `
apiVersion: demo.example.com/v1
kind: Greeting
metadata: {name: hello, generation: 2, creationTimestamp: "` + ago(time.Hour) + `", managedFields: [
  {manager: fairlead, operation: Apply, time: "` + ago(10*time.Second) + `"},
  {manager: operator, operation: Update, subresource: status, time: "` + ago(time.Second) + `"}]}
` + status
}

func TestGeneric(t *testing.T) {
	settling := health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonSettling, Message: settles, Recheck: 20 * time.Second}
	tests := map[string]struct {
		object  string
		warning *health.Warning
		want    health.Verdict
	}{
		"a Pod that ran out of memory for good is degraded": {
			object: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Failed, containerStatuses: " +
				"[{name: side, state: {terminated: {exitCode: 0, reason: Completed}}}, {name: app, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]}",
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "OOMKilled", Message: "the Pod failed: its container app ended with exit code 137 (OOMKilled)"},
		},
		"a Pod whose runtime does not call it out of memory is told with what its exit code can mean": {
			object: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Failed, containerStatuses: " +
				"[{name: app, state: {terminated: {exitCode: 137, reason: Error}}}]}",
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "Error", Message: "the Pod failed: its container app ended with exit code 137 (Error): " +
				"SIGKILL ended it, for example because it used more memory than its limit or than the node had"},
		},
		"a Pod that was evicted is degraded": {
			object: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Failed, reason: Evicted, message: The node was low on memory.}",
			want:   health.Verdict{Health: v1alpha1.Degraded, Reason: "Evicted", Message: "the Pod failed: The node was low on memory."},
		},
		"a Pod that failed and does not tell why is degraded": {
			object: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Failed}",
			want:   health.Verdict{Health: v1alpha1.Degraded, Reason: "PodFailed", Message: "the Pod failed"},
		},
		"a Pod that succeeded is well": {
			object: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Succeeded}",
			want:   health.Verdict{Health: v1alpha1.Healthy},
		},
		"a custom resource without status settles": {
			object: greeting(""), want: settling,
		},
		"a custom resource whose conditions are of an earlier generation settles": {
			object: greeting(`status: {conditions: [{type: Ready, status: "True", observedGeneration: 1}]}`), want: settling,
		},
		"a custom resource whose conditions are older than its last apply settles": {
			object: greeting(`status: {conditions: [
  {type: Ready, status: "True", lastTransitionTime: "` + ago(time.Minute) + `"}]}`), want: settling,
		},
		"a custom resource whose conditions are of its generation is well": {
			object: greeting(`status: {conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`),
			want:   health.Verdict{Health: v1alpha1.Healthy},
		},
		"a custom resource that observed its generation is well": {
			object: greeting(`status: {observedGeneration: 2}`),
			want:   health.Verdict{Health: v1alpha1.Healthy},
		},
		"a custom resource that was silent for long is well": {
			object: "apiVersion: demo.example.com/v1\nkind: Greeting\nmetadata: {name: hello}",
			want:   health.Verdict{Health: v1alpha1.Healthy},
		},
		"a custom resource of a member whose clock is ahead settles no longer than others": {
			object: "apiVersion: demo.example.com/v1\nkind: Greeting\nmetadata: {name: hello, creationTimestamp: '" + ago(-time.Hour) + "'}",
			want:   health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonSettling, Message: settles, Recheck: 30 * time.Second},
		},
		"a custom resource that is not ready says why": {
			object: greeting(`status: {conditions: [
  {type: Ready, status: "False", reason: NoDatabase, message: cannot connect, observedGeneration: 2}]}`),
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: "NoDatabase", Message: "cannot connect"},
		},
		"a custom resource that is stalled is degraded": {
			object: greeting(`status: {conditions: [
  {type: Stalled, status: "True", reason: BadSpec, message: size is negative, observedGeneration: 2}]}`),
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "BadSpec", Message: "size is negative"},
		},
		"a custom resource without words gets those of its newest warning": {
			object:  greeting(`status: {conditions: [{type: Ready, status: "False", reason: Starting, observedGeneration: 2}]}`),
			warning: &health.Warning{Reason: "BackOff", Message: "image not found"},
			want:    health.Verdict{Health: v1alpha1.Progressing, Reason: "Starting", Message: "BackOff: image not found"},
		},
		"an object with words of its own gets those of its newest warning behind them": {
			object:  greeting(`status: {conditions: [{type: Ready, status: "False", reason: Starting, message: 0 of 1, observedGeneration: 2}]}`),
			warning: &health.Warning{Reason: "BackOff", Message: "image not found"},
			want:    health.Verdict{Health: v1alpha1.Progressing, Reason: "Starting", Message: "0 of 1; BackOff: image not found"},
		},
		"a status of an unknown shape is not called well": {
			object: greeting(`status: {conditions: {Ready: yes}}`),
			want:   health.Verdict{Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonStatusUnreadable},
		},
		"a Service needs no time to settle": {
			object: "apiVersion: v1\nkind: Service\nmetadata: {name: web, creationTimestamp: '" + ago(0) + "'}\n" +
				"spec: {type: ClusterIP, clusterIP: 10.0.0.1}",
			want: health.Verdict{Health: v1alpha1.Healthy},
		},
		"a Deployment that rolls out is on its way": {
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 1}
spec: {replicas: 3}
status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3, readyReplicas: 1, availableReplicas: 1,
  conditions: [{type: Progressing, status: "True", reason: ReplicaSetUpdated}]}`,
			want: health.Verdict{Health: v1alpha1.Progressing, Reason: "LessAvailable", Message: "Available: 1/3"},
		},
		"a Deployment past its deadline is degraded": {
			object: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 1}
spec: {replicas: 3}
status: {observedGeneration: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}`,
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "ProgressDeadlineExceeded", Message: "Progress deadline exceeded"},
		},
		"a CRD is well once established": {
			object: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: greetings.demo.example.com}
status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}`,
			want: health.Verdict{Health: v1alpha1.Healthy},
		},
		"a failed Job is degraded": {
			object: `
apiVersion: batch/v1
kind: Job
metadata: {name: load}
status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}`,
			want: health.Verdict{Health: v1alpha1.Degraded, Reason: "JobFailed", Message: "Job Failed. failed: 0/1"},
		},
		"what is being deleted says what holds it": {
			object: `
apiVersion: demo.example.com/v1
kind: Greeting
metadata: {name: hello, deletionTimestamp: "` + ago(time.Minute) + `", finalizers: [example.com/farewell]}`,
			want: health.Verdict{
				Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonTerminating,
				Message: "it is being deleted, and waits for finalizer example.com/farewell",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(object(t, test.object), health.Related{Warning: test.warning}, now)
			if test.want.Reason == v1alpha1.ReasonStatusUnreadable {
				got.Message = "" // the message is kstatus', which may change
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHasProgress(t *testing.T) {
	for kind, want := range map[schema.GroupKind]bool{
		{Kind: "ConfigMap"}: false,
		{Kind: "Secret"}:    false,
		{Group: "storage.k8s.io", Kind: "StorageClass"}:        false,
		{Group: "operators.coreos.com", Kind: "OperatorGroup"}: false,
		{Kind: "PersistentVolumeClaim"}:                        true,
		{Group: "operators.coreos.com", Kind: "Subscription"}:  true,
		{Group: "apps", Kind: "Deployment"}:                    true,
		{Group: "demo.example.com", Kind: "Greeting"}:          true,
	} {
		if got := health.HasProgress(kind); got != want {
			t.Errorf("HasProgress(%s) is %v", kind, got)
		}
	}
}
