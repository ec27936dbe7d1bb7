// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

const (
	// answerWithin is how long a command waits for the answers of all members. A collector answers within five seconds.
	answerWithin = 30 * time.Second
	// createWithin is how long one create may take, and deleteWithin how long all deletes may take. An interrupt does not stop them.
	createWithin = 10 * time.Second
	deleteWithin = 5 * time.Second
	// pauseBetweenWatches is how long a watch waits before it connects again.
	pauseBetweenWatches = time.Second
)

// Client asks members through MemberReports on the host.
type Client struct {
	// ErrOut gets the lines about the progress.
	ErrOut io.Writer
	// Now returns the present time.
	Now func() time.Time
	// Bound bounds the wait for answers.
	Bound func(context.Context) (context.Context, context.CancelFunc)
	// Pause waits before a watch connects again. It returns an error if the user interrupts the command meanwhile.
	Pause func(context.Context) error
}

// NewClient returns a Client with the usual bounds.
func NewClient(errOut io.Writer) Client {
	return Client{ErrOut: errOut, Now: time.Now, Pause: pause, Bound: func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, answerWithin)
	}}
}

// Session is the requests of one command, while they exist at the host.
type Session struct {
	*Client
	request *Request
	host    client.WithWatch
	created []*v1alpha1.MemberReport
}

// Do creates the requests at the host, calls use, and then deletes the requests, whatever has happened.
func (c *Client) Do(ctx context.Context, host client.WithWatch, r *Request, use func(*Session) error) error {
	s := &Session{Client: c, request: r, host: host}
	// If a program such as `head` reads standard output and ends early, the signal SIGPIPE would end this process before it deletes the
	// requests.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	defer s.delete(ctx)
	err := s.create(ctx)
	if err == nil {
		err = use(s)
	}
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return exit.Silently(exit.Failed) // the user interrupted the command, or the reader of the pipe has what it wanted
	}
	return err
}

// create creates a request for each subject. An interrupt does not cut a create off, because hostctl would then not know the name of what
// the API server has created.
func (s *Session) create(ctx context.Context) error {
	for _, about := range s.request.Subjects {
		report := s.request.report(about, s.Now())
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), createWithin)
		// Strict, because a host with earlier CRDs would drop the field spec.request, and create a report without a request.
		err := s.host.Create(within, report, client.FieldValidation(metav1.FieldValidationStrict))
		cancel()
		if err != nil {
			return s.request.refused("create", &about.Object, err)
		}
		s.created = append(s.created, report)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// delete deletes the requests that were created, also after an interrupt. It tells of those that it could not delete.
func (s *Session) delete(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteWithin)
	defer cancel()
	errs := make([]error, len(s.created))
	var all sync.WaitGroup
	for i, report := range s.created {
		all.Go(func() { errs[i] = s.host.Delete(ctx, report, client.Preconditions{UID: &report.UID}) })
	}
	all.Wait()
	for i, err := range errs {
		r := s.created[i]
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // a conflict means another uid: a later report of this name
			continue
		}
		s.tell(fmt.Sprintf("• MemberReport %s/%s with the request to %s was not deleted, and stays until %s: %s", r.Namespace, r.Name, r.Spec.Cluster,
			r.Spec.Expires.Format(time.TimeOnly), plain.Error(s.request.refused("delete", &r.Spec.Object, err))))
	}
}

// tell writes a line about the progress.
func (c *Client) tell(text string) { screen.Tell(c.ErrOut, "", "", text) }

func pause(ctx context.Context) error { return connect.Pause(ctx, pauseBetweenWatches) }
