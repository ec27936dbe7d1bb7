// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/federate/evidencerequest"
)

// Update is a new state of the request about one subject: an answer, or why there is none.
type Update struct {
	Subject Subject
	Report  *v1alpha1.MemberReport
	Problem *Problem
}

// Updates returns a channel of the states of all requests. The states of one request come in the order in which the host had them. The
// channel is closed when ctx is done, or when no request exists any more.
func (s *Session) Updates(ctx context.Context) <-chan Update {
	updates := make(chan Update)
	var all sync.WaitGroup
	for _, report := range s.created {
		all.Go(func() {
			f := &follower{Session: s, created: report, send: func(u Update) {
				u.Subject, u.Problem = subjectOf(report), s.named(u.Problem, report)
				select {
				case updates <- u:
				case <-ctx.Done():
				}
			}}
			f.follow(ctx)
		})
	}
	go func() {
		all.Wait()
		close(updates)
	}()
	return updates
}

// named adds to a problem the object about which the report asks, if the command asks about several objects.
func (s *Session) named(p *Problem, report *v1alpha1.MemberReport) *Problem {
	if p != nil && !s.request.hasOneObject() {
		p.Object = evidencerequest.Ref(&report.Spec.Object)
	}
	return p
}

// Collect waits until each request has an answer or cannot get one. It returns the answers and the problems, in the order of the subjects. It returns an
// error only if ctx ends, and then the error of ctx.
func (s *Session) Collect(ctx context.Context) (answers []v1alpha1.MemberReport, problems []*Problem, err error) {
	s.begin()
	waiting, cancel := s.Bound(ctx)
	defer cancel()
	latest := make(map[Subject]Update)
	for _, r := range s.created { // without any update
		latest[subjectOf(r)] = Update{Problem: s.named(problemOf(r), r)}
	}
	for u := range s.Updates(waiting) {
		latest[u.Subject] = u
		if !slices.ContainsFunc(slices.Collect(maps.Values(latest)), func(u Update) bool { return u.Problem != nil && u.Problem.waits }) {
			cancel()
		}
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	for _, about := range s.request.Subjects {
		u := latest[about]
		if u.Problem == nil {
			answers = append(answers, *u.Report)
			continue
		}
		if u.Problem.waits {
			u.Problem.Message = fmt.Sprintf("no answer within %s: %s", answerWithin, u.Problem.Message)
		}
		problems = append(problems, u.Problem)
	}
	return answers, problems, nil
}

// Follow calls show with each answer until the user interrupts the command, or until no request can get a further answer. It writes each
// problem to standard error once. Some problems are normal for a new request (see outlook.begins): Follow writes them only if they last.
// If the user can read the reason on standard error already, the returned error has no message.
func (s *Session) Follow(ctx context.Context, show func(*v1alpha1.MemberReport) error) error {
	s.begin()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	early, noMore := s.Bound(ctx)
	defer noMore()
	isLate := early.Done()
	shown, hasAnswered := make(map[Subject]string), make(map[Subject]bool)
	latest := make(map[Subject]*Problem)
	for _, r := range s.created {
		latest[subjectOf(r)] = s.named(problemOf(r), r)
	}
	tell := func(about Subject, p *Problem) {
		if p == nil {
			return
		}
		if text := p.line(); shown[about] != text && (!p.begins || isLate == nil && !hasAnswered[about]) {
			shown[about] = text
			s.tell(text)
		}
	}
	updates := s.Updates(ctx)
	for {
		select {
		case <-isLate:
			isLate = nil
			for _, about := range s.request.Subjects {
				if ctx.Err() == nil {
					tell(about, latest[about])
				}
			}
		case u, ok := <-updates:
			if !ok {
				return nil
			}
			latest[u.Subject] = u.Problem
			tell(u.Subject, u.Problem)
			if u.Problem == nil {
				delete(shown, u.Subject)
				hasAnswered[u.Subject] = true
				if err := show(u.Report); err != nil {
					return err
				}
			}
			if ended, err := outcome(latest); ended {
				return err
			}
		}
	}
}

// outcome reports whether every request has ended. If so, it returns an error unless all requests lasted until they expired: only then has
// the command done all its work.
func outcome(latest map[Subject]*Problem) (ended bool, err error) {
	for _, p := range latest {
		if p == nil || !p.ends {
			return false, nil
		}
		if !p.expired {
			err = exit.Silently(exit.Failed)
		}
	}
	return true, err
}

// begin tells the user, for each object, which members the command asks.
func (s *Session) begin() {
	asked := make(map[v1alpha1.ReportedObject][]string)
	for _, about := range s.request.Subjects {
		asked[about.Object] = append(asked[about.Object], about.Cluster)
	}
	for _, about := range s.request.Subjects {
		if members := asked[about.Object]; members != nil {
			s.tell(fmt.Sprintf("• asking %s for the %s", strings.Join(members, ", "), s.request.title(&about.Object)))
		}
		delete(asked, about.Object)
	}
}
