// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// ListAsYAML returns the objects of a list on a cluster as YAML, for a folder with the state of a fleet. If it cannot read them, it
// returns the error as a comment.
func ListAsYAML(ctx context.Context, c client.Reader, cluster string, list client.ObjectList) []byte {
	if err := c.List(ctx, list); err != nil {
		return fmt.Appendf(nil, "# listing %T on %s: %v\n", list, cluster, err)
	}
	content, err := yaml.Marshal(list)
	if err != nil {
		return fmt.Appendf(nil, "# encoding %T of %s: %v\n", list, cluster, err)
	}
	return content
}
