// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/json"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// CleanStatus makes every text in a status safe to print (health.Clean), because members write some of these texts.
func CleanStatus(status *v1alpha1.WrapperStatus) error {
	content, err := json.Marshal(status)
	if err != nil {
		return err
	}
	var fields any
	if err := json.Unmarshal(content, &fields); err != nil {
		return err
	}
	if content, err = json.Marshal(cleaned(fields)); err != nil {
		return err
	}
	*status = v1alpha1.WrapperStatus{}
	return json.Unmarshal(content, status)
}

// cleaned applies health.Clean to the texts of a decoded JSON value.
func cleaned(value any) any {
	switch v := value.(type) {
	case string:
		return health.Clean(v, screen.MaxText)
	case []any:
		for i := range v {
			v[i] = cleaned(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = cleaned(v[key])
		}
	}
	return value
}

// CleanReport makes every text in the status of a report safe to print: logs with plain.Text, which keeps their lines and their
// indentation, and all other texts with health.Clean.
func CleanReport(s *v1alpha1.MemberReportStatus) {
	clean := func(texts ...*string) {
		for _, text := range texts {
			*text = health.Clean(*text, screen.MaxText)
		}
	}
	clean(&s.Object.Group, &s.Object.Kind, &s.Object.Name, &s.Reason, &s.Message, &s.Cluster)
	for i := range s.Clusters {
		clean(&s.Clusters[i])
	}
	for i := range s.Events {
		e := &s.Events[i]
		clean(&e.Kind, &e.Name, &e.Type, &e.Reason, &e.Message)
	}
	for i := range s.Containers {
		c := &s.Containers[i]
		clean(&c.Pod, &c.Name, &c.State, &c.Reason)
		c.Log, c.PreviousLog = plain.Text(c.Log), plain.Text(c.PreviousLog)
	}
}
