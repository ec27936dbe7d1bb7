// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"strings"

	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

// maxLogs is how many logs one explanation reads at most.
const maxLogs = 4

// logs reads the ends of logs for one explanation, each log once.
type logs struct {
	client *memberclient.Client
	read   map[logKey]logRead
}

// logKey identifies a log of a container. previous is true for the log of the run before the present one. If the container does not
// run, it is the log of the run before the last one.
type logKey struct {
	namespace, pod, container string
	previous                  bool
}

type logRead struct {
	text string
	ok   bool
}

// tail returns the end of a log. ok is false if the kubelet did not return the log, or if the explanation has read maxLogs other logs
// already.
func (l *logs) tail(ctx context.Context, key logKey) (text string, ok bool) {
	known, isKnown := l.read[key]
	if !isKnown && len(l.read) < maxLogs {
		var err error
		known.text, err = l.client.LogTail(ctx, key.namespace, key.pod, key.container, key.previous)
		known.ok = err == nil
		l.read[key] = known
	}
	return known.text, known.ok
}

// tailOr reads the end of a log if the kubelet has the log. If the kubelet does not return it, or returns an empty text or an error
// text in its place, tailOr returns the argument before.
func (l *logs) tailOr(ctx context.Context, key logKey, isThere bool, before string) string {
	if isThere {
		if text, ok := l.tail(ctx, key); ok && strings.TrimSpace(health.LogText(text)) != "" {
			return text
		}
	}
	return before
}
