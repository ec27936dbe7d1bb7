// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/request"
)

// output is what -o json and -o yaml print. The names of its fields are stable.
type output struct {
	// Wrapper is the kind, the namespace and the name, for example "Federated shop/web".
	Wrapper string   `json:"wrapper"`
	Reports []report `json:"reports"`
	// Unanswered are the members that hostctl asked and that did not answer.
	Unanswered []*request.Problem `json:"unanswered,omitempty"`
}

// report is one MemberReport without its events. The reason of an answer to a request is Answered.
type report struct {
	Object  v1alpha1.ReportedObject `json:"object"`
	Reason  string                  `json:"reason,omitempty"`
	Message string                  `json:"message,omitempty"`
	// Cluster is the member from which the logs are. Clusters are the members that show the same failure, 100 at most. ClusterCount is
	// the number of all such members.
	Cluster      string      `json:"cluster"`
	Clusters     []string    `json:"clusters"`
	ClusterCount int32       `json:"clusterCount"`
	ObservedTime metav1.Time `json:"observedTime,omitempty,omitzero"`
	// Unreachable is true if the manager cannot reach the member Cluster now.
	Unreachable bool                         `json:"unreachable,omitempty"`
	Containers  []v1alpha1.ObservedContainer `json:"containers"`
}

// logLine is what -f prints with -o json and -o yaml for each line of a log. The names of its fields are stable.
type logLine struct {
	Object    v1alpha1.ReportedObject `json:"object"`
	Cluster   string                  `json:"cluster"`
	Pod       string                  `json:"pod"`
	Container string                  `json:"container"`
	Line      string                  `json:"line"`
}

func (o *Options) outputOf(w v1alpha1.Wrapper, reports []v1alpha1.MemberReport, problems []*request.Problem) *output {
	out := &output{Wrapper: render.TitleOf(w), Reports: []report{}, Unanswered: problems}
	for i := range reports {
		s := &reports[i].Status
		one := report{Object: s.Object, Reason: s.Reason, Message: s.Message, Cluster: s.Cluster, Clusters: append([]string{}, s.Clusters...),
			ClusterCount: s.ClusterCount, ObservedTime: s.ObservedTime, Containers: append([]v1alpha1.ObservedContainer{}, s.Containers...)}
		one.Unreachable = evidence.Unreachable(w, s.Cluster) != nil
		for j := range one.Containers {
			c := &one.Containers[j]
			c.Log, c.PreviousLog = strings.Join(lastLines(c.Log, o.Tail), "\n"), strings.Join(lastLines(c.PreviousLog, o.Tail), "\n")
		}
		out.Reports = append(out.Reports, one)
	}
	return out
}
