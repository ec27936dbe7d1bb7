// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"fmt"
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/request"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// follower prints the lines of each answer that it has not printed before.
type follower struct {
	*Options
	wrapper v1alpha1.Wrapper
	// read has what the follower has printed of each container. The key is from placeOf.
	read map[string]*snapshot
	// messages has the message of the last answer about each object on each member.
	messages map[request.Subject]string
}

// snapshot is what the follower has printed of a container.
type snapshot struct {
	// lines are the lines of the newest answer in which the log had lines.
	lines    []string
	restarts int32
	// isEmpty is true if the log had no lines in the newest answer. With --since, the container has then logged nothing during the time
	// that --since names, so no lines are missing.
	isEmpty bool
}

func newFollower(o *Options, w v1alpha1.Wrapper) *follower {
	return &follower{Options: o, wrapper: w, read: make(map[string]*snapshot), messages: make(map[request.Subject]string)}
}

// show prints the new lines of an answer.
func (f *follower) show(r *v1alpha1.MemberReport) error {
	about := request.Subject{Object: r.Status.Object, Cluster: r.Status.Cluster}
	known, isFollowed := f.messages[about]
	if !isFollowed {
		known = r.Status.Message
		f.tellHeading(f.wrapper, r)
	}
	message := r.Status.Message
	if there := containersOf([]v1alpha1.MemberReport{*r}); f.Container != "" && len(there) > 0 && !slices.Contains(there, f.Container) {
		message = fmt.Sprintf("no container has the name %s; there are %s", f.Container, messages.Few(there, evidence.MaxKnown))
	}
	if message != known && message != "" {
		f.tell("%s: %s: %s", r.Status.Cluster, evidence.ObjectOf(r), message)
	}
	f.messages[about] = message
	for i := range r.Status.Containers {
		c := &r.Status.Containers[i]
		if f.Container != "" && c.Name != f.Container {
			continue
		}
		if err := f.add(r, c, !isFollowed); err != nil {
			return err
		}
	}
	return nil
}

// add prints the new lines of a container. isFirst is true for the first answer about an object of a member. Only then does --tail apply: the lines in
// later answers are new to the user.
func (f *follower) add(r *v1alpha1.MemberReport, c *v1alpha1.ObservedContainer, isFirst bool) error {
	where, lines := placeOf(r, c), lastLines(c.Log, -1)
	known, isKnown := f.read[where]
	if !isKnown {
		f.read[where] = &snapshot{lines: lines, restarts: c.Restarts}
		if len(lines) == 0 {
			f.tell("%s: %s: it has no log", where, stateOf(c))
		}
		if isFirst {
			lines = lastLines(c.Log, f.Tail)
		}
		return f.print(r, c, lines)
	}
	if c.Restarts != known.restarts { // all lines are of the new run
		f.tell("%s: %s; … lines of the run before may be missing", where, stateOf(c))
		*known = snapshot{restarts: c.Restarts}
	}
	fresh, overlaps := newLines(known.lines, lines)
	if !overlaps && !known.isEmpty {
		f.tell("%s: … lines may be missing", where)
	}
	known.isEmpty = len(lines) == 0
	if !known.isEmpty {
		known.lines = lines
	}
	return f.print(r, c, fresh)
}

// print writes lines of a container to standard output, as text or in the format of -o.
func (f *follower) print(r *v1alpha1.MemberReport, c *v1alpha1.ObservedContainer, lines []string) error {
	if f.Output == "" {
		return f.write(placeOf(r, c), lines)
	}
	for _, line := range lines {
		if err := encode.Item(f.Out, f.Output, logLine{r.Status.Object, r.Status.Cluster, c.Pod, c.Name, line}); err != nil {
			return err
		}
	}
	return nil
}
