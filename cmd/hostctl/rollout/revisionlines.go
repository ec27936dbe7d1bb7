// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout/revisions"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// pastRevisions has the revisions of a wrapper, the oldest first.
type pastRevisions struct {
	Wrapper string `json:"wrapper"`
	// Omitted is the number of members without a line in the wrapper's status. The field Clusters of a revision leaves them out.
	Omitted   int32          `json:"omitted,omitempty"`
	Revisions []revisionLine `json:"revisions"`
}

// revisionLine is one revision in the output.
type revisionLine struct {
	Revision int64       `json:"revision"`
	Name     string      `json:"name"`
	Created  metav1.Time `json:"created"`
	authors
	Clusters int `json:"clusters"`
	// Content is "plain", or "Secret" if the revision has a Secret, or "unreadable" if hostctl cannot decode the revision.
	Content string `json:"content"`
	// Is lists what the revision is for the wrapper now: current, update, last good, failed.
	Is []string `json:"is,omitempty"`
}

// authors are the users who wrote the content of a revision.
type authors struct {
	// WrittenBy is the user who first wrote the content; "" if the host does not know who did.
	WrittenBy string `json:"writtenBy,omitempty"`
	// RewrittenBy is the user who last wrote the same content again. It is nil if no user did, and "" if the host does not know who did.
	RewrittenBy *string `json:"rewrittenBy,omitempty"`
}

func (a authors) String() string {
	if a.RewrittenBy == nil {
		return orDash(a.WrittenBy)
	}
	return orDash(a.WrittenBy) + ", again " + orDash(*a.RewrittenBy)
}

// sentence returns " by USER" and the like. It follows the age of the revision in a message.
func (a authors) sentence() string {
	text := " by " + a.WrittenBy
	if a.WrittenBy == "" {
		text = ", and the host does not know by whom"
	}
	switch {
	case a.RewrittenBy == nil:
		return text
	case *a.RewrittenBy == "":
		return text + "; its content was written again later, and the host does not know by whom"
	}
	return text + "; its content was written again later, last by " + *a.RewrittenBy
}

// authorsOf reads the authors from a revision's annotations. Other programs may write annotations, so it removes control characters from
// the names.
func authorsOf(r *appsv1.ControllerRevision) authors {
	a := authors{WrittenBy: plain.User(r.Annotations[v1alpha1.AnnotationWrittenBy])}
	if again, ok := r.Annotations[v1alpha1.AnnotationRewrittenBy]; ok {
		a.RewrittenBy = new(plain.User(again))
	}
	return a
}

func pastRevisionsOf(w v1alpha1.Wrapper, list []appsv1.ControllerRevision) *pastRevisions {
	status := w.WrapperStatus()
	holders := make(map[string]int)
	for i := range status.Clusters {
		holders[status.Clusters[i].Revision]++
	}
	past := &pastRevisions{Wrapper: render.TitleOf(w), Omitted: status.ClustersOmitted,
		Revisions: make([]revisionLine, len(list))}
	for i := range list {
		r, content := &list[i], "plain"
		switch _, err := revisions.ContentOf(w, r); {
		case errors.Is(err, revisions.ErrHidden):
			content = "Secret"
		case err != nil:
			content = "unreadable"
		}
		past.Revisions[i] = revisionLine{Revision: r.Revision, Name: r.Name, Created: r.CreationTimestamp, authors: authorsOf(r),
			Clusters: holders[r.Name], Content: content, Is: roles(status, r.Name)}
	}
	return past
}

// print writes the revisions in the format of --output.
func (o *HistoryOptions) print(past *pastRevisions) error {
	if o.Output == encode.JSON || o.Output == encode.YAML {
		return encode.To(o.Out, o.Output, past)
	}
	table := tabwriter.NewWriter(o.Out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "REVISION\tNAME\tAGE\tWHO\tCLUSTERS\tCONTENT\tIS") // Flush returns the error
	for i := range past.Revisions {
		r := &past.Revisions[i]
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", r.Revision, r.Name, screen.Age(o.Now(), r.Created), r.authors, r.Clusters, r.Content,
			orDash(strings.Join(r.Is, ", ")))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if past.Omitted > 0 {
		_, _ = fmt.Fprintf(o.ErrOut, "• column CLUSTERS leaves out %d clusters, because the wrapper's status has no line for them\n", past.Omitted)
	}
	return nil
}

// roles returns what the revision with this name is for the wrapper now: current, update, last good, failed.
func roles(status *v1alpha1.WrapperStatus, name string) []string {
	var all []string
	for _, role := range []struct{ revision, word string }{
		{status.CurrentRevision, "current"},
		{status.UpdateRevision, "update"},
		{status.Rollout.LastGoodRevision, "last good"},
		{status.Rollout.Failure.Revision, "failed"},
	} {
		if role.revision == name {
			all = append(all, role.word)
		}
	}
	return all
}
