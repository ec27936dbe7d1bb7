// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/request"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// ask asks members for logs, and prints the answers after the reports that the host has.
func (o *Options) ask(ctx context.Context, w v1alpha1.Wrapper, reports []v1alpha1.MemberReport, about []request.Subject) error {
	r := &request.Request{Wrapper: w, Type: v1alpha1.EvidenceLogs, Subjects: about, Since: o.Since, Follows: o.Follow}
	return o.Ask.Do(ctx, o.Host, r, func(s *request.Session) error {
		if o.Follow {
			return s.Follow(ctx, newFollower(o, w).show)
		}
		answers, problems, err := s.Collect(ctx)
		if err != nil {
			return err
		}
		if err := checkContainer(answers, o.Container); err != nil {
			return err
		}
		if err := o.print(w, append(reports, ofContainer(answers, o.Container)...), problems); err != nil {
			return err
		}
		return s.Tell(problems)
	})
}

// checkContainer returns an error if answers have containers, and none of them has the name that --container gives.
func checkContainer(answers []v1alpha1.MemberReport, container string) error {
	known := containersOf(answers)
	if container == "" || len(known) == 0 || slices.Contains(known, container) {
		return nil
	}
	var objects []string
	for i := range answers {
		if name := evidence.ObjectOf(&answers[i]); !slices.Contains(objects, name) {
			objects = append(objects, name)
		}
	}
	return exit.Usagef("--container %s: no container of %s has this name; there are %s", container, messages.Few(objects, request.MaxObjects), messages.Few(known, evidence.MaxKnown))
}
