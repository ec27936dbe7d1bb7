// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// Limits bound the archive. Tests set smaller ones.
type Limits struct {
	// Wrappers is the largest number of wrappers in the archive. Summaries is the largest number of wrappers that the summary describes.
	Wrappers, Summaries int
	// Objects is the largest number of objects of each other kind in the archive.
	Objects int
	// Page is the largest number of objects that one request reads.
	Page int64
	// Bytes is the largest total size of the files before compression.
	Bytes int64
}

// maxUnanswered limits the consecutive parts for which the host did not answer. After so many, hostctl stops asking the host.
const maxUnanswered = 2

// collection reads parts of the host into the archive, and records for the index which parts it could not read.
type collection struct {
	host      *Host
	limits    Limits
	archive   *archive
	progress  *progress.Printer
	redaction redaction

	// read is the number of parts that hostctl could read.
	read int
	// notRead are the parts that could not be read, each with the reason. cut are the notes about what is left out of the archive.
	notRead, cut []string
	// first is the error of the first part that could not be read.
	first error
	// unanswered is for how many parts the host has not answered since its last answer.
	unanswered int
}

// part reads one part. If the part cannot be read, the index tells why, and part returns nil, so that the command goes on. It returns an
// error only if the command must end: the user interrupted it, or the archive cannot be written.
func (c *collection) part(ctx context.Context, what string, read func() error) error {
	if c.unanswered >= maxUnanswered {
		c.notRead = append(c.notRead, what+": not asked for, because the host has stopped answering")
		return nil
	}
	step := c.progress.Step("reading %s", what)
	err := read()
	switch {
	case ctx.Err() != nil:
		step.Skip()
		return fmt.Errorf("interrupted, and no archive is written: %w", ctx.Err())
	case errors.Is(err, errWrite):
		step.Skip()
		return err
	case err == nil:
		step.Done()
		c.read++
		c.unanswered = 0
		return nil
	}
	step.Fail(errors.New(c.noAnswer(what, err)))
	return nil
}

// noAnswer notes that something could not be read, and returns the reason.
func (c *collection) noAnswer(what string, err error) string {
	reason := c.why(err)
	c.notRead = append(c.notRead, what+": "+reason)
	if c.first == nil {
		c.first = fmt.Errorf("reading %s: %s", what, reason)
	}
	if network := (*url.Error)(nil); errors.As(err, &network) {
		c.unanswered++
	} else {
		c.unanswered = 0
	}
	return reason
}

// why returns the reason for which a part could not be read, for a person.
func (c *collection) why(err error) string {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err) && errors.As(err, &status):
		return "your account may not: " + health.Clean(c.redaction.text(status.Status().Message), health.MaxMessage)
	case meta.IsNoMatchError(err):
		return "the host does not have this kind"
	}
	return health.Clean(c.redaction.text(err.Error()), health.MaxMessage)
}

// cutf notes that something is left out.
func (c *collection) cutf(format string, args ...any) {
	c.cut = append(c.cut, fmt.Sprintf(format, args...))
}

// listOf returns a function that makes an empty list of a kind, for one request. The objects that the client reads into the list keep all
// fields that the host sends.
func listOf(version schema.GroupVersion, kind string) func() client.ObjectList {
	return func() client.ObjectList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(version.WithKind(kind + "List"))
		return list
	}
}

// metadataOf does the same as listOf for the metadata only.
func metadataOf(version schema.GroupVersion, kind string) func() client.ObjectList {
	return func() client.ObjectList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(version.WithKind(kind + "List"))
		return list
	}
}

// each reads a list page by page, and calls the function visit for each object. The parameter most limits the number of objects. If the
// list has more, each stops there, and notes how many objects are left out.
func (c *collection) each(ctx context.Context, what string, most int, list func() client.ObjectList, visit func(map[string]any) error, opts ...client.ListOption) error {
	next, visited := "", 0
	for {
		page := list()
		if err := c.host.List(ctx, page, append(slices.Clone(opts), client.Limit(c.limits.Page), client.Continue(next))...); err != nil {
			return err
		}
		inPage := 0
		if err := meta.EachListItem(page, func(obj runtime.Object) error {
			inPage++
			if inPage > most-visited {
				return nil
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
			if err != nil {
				return err
			}
			return visit(content)
		}); err != nil {
			return err
		}
		taken := min(inPage, most-visited)
		visited += taken
		next = page.GetContinue()
		switch {
		case next == "" && inPage == taken:
			return nil
		case next != "" && visited < most:
			continue
		}
		more := ""
		left := int64(inPage - taken)
		if remaining := page.GetRemainingItemCount(); remaining != nil {
			left += *remaining
		} else if next != "" {
			more = "at least "
			left = max(left, 1)
		}
		c.cutf("%s: the archive has %d, and %s%d more are left out", what, visited, more, left)
		return nil
	}
}

// addObject redacts an object and writes it to a file.
func (c *collection) addObject(name string, obj map[string]any) error {
	return c.addYAML(name, c.redaction.object(obj))
}

// addYAML writes a value to a file. It does not redact: the caller has removed the secrets.
func (c *collection) addYAML(name string, value any) error {
	content, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return c.archive.add(name, content)
}

// group collects objects in one file for each namespace.
type group map[string][]byte

// add redacts an object, and appends it to the file of its namespace.
func (g group) add(r *redaction, obj map[string]any) error {
	namespace, _, _ := unstructured.NestedString(obj, "metadata", "namespace")
	content, err := yaml.Marshal(r.object(obj))
	if err == nil {
		g[namespace] = append(append(g[namespace], "---\n"...), content...)
	}
	return err
}

// write writes the files, each with this name in the folder of its namespace.
func (g group) write(a *archive, name string) error {
	namespaces := make([]string, 0, len(g))
	for namespace := range g {
		namespaces = append(namespaces, namespace)
	}
	slices.Sort(namespaces)
	for _, namespace := range namespaces {
		if err := a.add(folderOf(namespace)+name, g[namespace]); err != nil {
			return err
		}
	}
	return nil
}

// folderOf returns the folder for the objects of a namespace, or for those of the cluster scope.
func folderOf(namespace string) string {
	if namespace == "" {
		return "cluster/"
	}
	return "namespaces/" + namespace + "/"
}

// grouped reads a list as one part, and writes one file for each namespace.
func (c *collection) grouped(ctx context.Context, what, name string, list func() client.ObjectList, opts ...client.ListOption) error {
	return c.part(ctx, what, func() error {
		files := group{}
		err := c.each(ctx, what, c.limits.Objects, list, func(obj map[string]any) error { return files.add(&c.redaction, obj) }, opts...)
		return errors.Join(err, files.write(c.archive, name))
	})
}
