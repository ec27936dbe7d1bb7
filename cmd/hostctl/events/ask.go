// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/request"
)

// ask asks members for the events of the object of --object. It prints the answers together with the events that the host already had
// (found). Without members it asks those on which the wrapper is placed.
func (o *Options) ask(ctx context.Context, out *table, found *reading, members []string) error {
	r, err := requestOf(found.wrapper, o.Object, members)
	if err != nil {
		return err
	}
	return o.Ask.Do(ctx, o.Host, r, func(s *request.Session) error {
		answers, problems, err := s.Collect(ctx)
		if err != nil {
			return err
		}
		for i := range answers {
			o.tellMissing(&answers[i])
			found.rows = append(found.rows, rowsOf(&answers[i])...)
		}
		found.unanswered = problems
		o.arrange(found)
		if err := o.show(out, found); err != nil {
			return err
		}
		return s.Tell(problems)
	})
}

// watchObject asks members for the events of the object of --object, and prints new ones until the user interrupts the command.
func (o *Options) watchObject(ctx context.Context, out *table) error {
	w, err := o.Wrapper(ctx)
	if err != nil {
		return err
	}
	if err := evidence.CheckClusters(w, o.Clusters); err != nil {
		return err
	}
	r, err := requestOf(w, o.Object, o.Clusters)
	if err != nil {
		return err
	}
	r.Follows = true
	f := &follower{Options: o, out: out, printed: make(map[key]state)}
	return o.Ask.Do(ctx, o.Host, r, func(s *request.Session) error {
		return s.Follow(ctx, func(answer *v1alpha1.MemberReport) error {
			o.tellMissing(answer)
			rows := recent(rowsOf(answer), o.Since, o.Now())
			if len(rows) == 0 && answer.Status.Message == "" {
				o.tell("• %s: there are no events about %s yet", answer.Status.Cluster, evidence.ObjectOf(answer))
			}
			return f.add(rows)
		})
	})
}

// requestOf returns the request for the events of the object that --object names.
func requestOf(w v1alpha1.Wrapper, named string, members []string) (*request.Request, error) {
	object, err := request.Object(w, named)
	if err != nil {
		return nil, err
	}
	members, err = request.Members(w, members)
	return &request.Request{Wrapper: w, Type: v1alpha1.EvidenceEvents, Subjects: request.OnEach(members, object)}, err
}

// tellMissing writes to standard error what is missing in an answer.
func (o *Options) tellMissing(answer *v1alpha1.MemberReport) {
	if s := &answer.Status; s.Message != "" {
		o.tell("%s: %s: %s", s.Cluster, evidence.ObjectOf(answer), s.Message)
	}
}
