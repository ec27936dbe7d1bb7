// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// PageSize is the highest number of objects in one page of a list.
const PageSize = 500

// ErrEndlessList is the error for a list with more pages than any list of a real cluster has.
var ErrEndlessList = fmt.Errorf("the list does not end after %d pages of %d objects", boundedread.MaxPages, PageSize)

const acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// EachMetadata calls each(object) for every object of a collection. The object has only its metadata. See EachSelected
// for the errors.
func EachMetadata(ctx context.Context, conn *Conn, path []string, each func(*metav1.PartialObjectMetadata) error) error {
	return EachSelected(ctx, conn, path, "", each)
}

// EachSelected calls each(object) for every object of a collection that a label selector selects; "" selects all. The
// object has only its metadata. EachSelected reads the collection page by page. If each returns an error, EachSelected
// stops and returns that error. Its other errors are those of Do, and ErrEndlessList. If the list expires before its last
// page, the API server answers 410, and the caller has to list again from the first page.
func EachSelected(ctx context.Context, conn *Conn, path []string, selector string, each func(*metav1.PartialObjectMetadata) error) error {
	token := ""
	for range boundedread.MaxPages {
		req := conn.rest.Get().AbsPath(path...).Param("limit", strconv.Itoa(PageSize))
		if selector != "" {
			req = req.Param("labelSelector", selector)
		}
		if token != "" {
			req = req.Param("continue", token)
		}
		answer, err := do(ctx, req, acceptMetadataList)
		if err != nil {
			return err
		}
		page := metav1.PartialObjectMetadataList{}
		if err := answer.Into(&page); err != nil {
			return fmt.Errorf("reading a page of a list: %w", err)
		}
		for i := range page.Items {
			if err := each(&page.Items[i]); err != nil {
				return err
			}
		}
		if token = page.Continue; token == "" {
			return nil
		}
	}
	return ErrEndlessList
}
