// SPDX-License-Identifier: Apache-2.0

package memberclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxListed is the largest number of bytes that the method List reads of a list.
const maxListed = 8 << 20

// Form is the form in which a list has its objects. It is the value of an Accept header.
type Form string

// The forms of a list.
const (
	WholeObjects Form = "application/json"
	MetadataOnly Form = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// List reads a page of at most o.Limit objects of one namespace into a list type of the caller. It uses only the two selectors and the
// limit of o. It keeps only the fields that this type has; the client in the field Dynamic would keep all fields. A list of more than 8 MiB
// is an error.
func (c *Client) List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, o metav1.ListOptions, form Form, into any) error {
	prefix := []string{"/apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		prefix = []string{"/api", gvr.Version}
	}
	body, err := c.Discovery.Get().AbsPath(prefix...).Namespace(namespace).Resource(gvr.Resource).SetHeader("Accept", string(form)).
		Param("labelSelector", o.LabelSelector).Param("fieldSelector", o.FieldSelector).Param("limit", strconv.FormatInt(o.Limit, 10)).Stream(ctx)
	if err != nil {
		return named("listing", gvr, err)
	}
	defer func() { _ = body.Close() }() // the text was read
	text, err := io.ReadAll(io.LimitReader(body, maxListed+1))
	if err == nil && len(text) > maxListed {
		err = fmt.Errorf("the answer has more than %d bytes", maxListed)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	return named("listing", gvr, err)
}
