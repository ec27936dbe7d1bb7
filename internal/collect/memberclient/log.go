// SPDX-License-Identifier: Apache-2.0

package memberclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"
)

const (
	// logLines is the number of lines that LogTail requests, and logRead is the largest number of bytes of these lines that it reads. The
	// kubelet selects the last lines, and returns their beginning up to the limit of bytes. So if logRead were not much larger than
	// logTail, the end of the log would be missing.
	logLines = 40
	logRead  = 1 << 20
	// logTail is the largest number of bytes that LogTail returns.
	logTail = 8 << 10
	// askedLines is how many lines LogSince asks for.
	askedLines = 1000
	// logTimeout is how long the kubelet may take. A kubelet whose node is down does not answer.
	logTimeout = 3 * time.Second
)

// LogTail returns the end of a container's log: the last 40 lines, or as many of them as fit into 8 KiB. The result begins with a whole
// line. If previous is true, it is the log of the container before its last restart.
func (c *Client) LogTail(ctx context.Context, namespace, pod, container string, previous bool) (string, error) {
	return c.log(ctx, namespace, pod, container, map[string]string{"previous": strconv.FormatBool(previous), "tailLines": strconv.Itoa(logLines)}, logTail)
}

// LogSince returns the end of a container's log: of the present run, or of the last run if the container does not run. It has at most 1,000
// lines and at most size bytes. LogSince leaves out lines that are older than sinceSeconds; 0 means that it leaves out no lines.
func (c *Client) LogSince(ctx context.Context, namespace, pod, container string, sinceSeconds, size int) (string, error) {
	params := map[string]string{"tailLines": strconv.Itoa(askedLines)}
	if sinceSeconds > 0 {
		params["sinceSeconds"] = strconv.Itoa(sinceSeconds)
	}
	return c.log(ctx, namespace, pod, container, params, size)
}

func (c *Client) log(ctx context.Context, namespace, pod, container string, params map[string]string, size int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	// The API server answers with text. client-go asks for JSON unless the request says otherwise.
	req := c.Discovery.Get().AbsPath("/api/v1").Namespace(namespace).Resource("pods").Name(pod).SubResource("log").SetHeader("Accept", "text/plain, */*").
		Param("container", container).Param("limitBytes", strconv.Itoa(logRead))
	for name, value := range params {
		req.Param(name, value)
	}
	body, err := req.Stream(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of container %s of pod %s: %w", container, pod, err)
	}
	defer func() { _ = body.Close() }() // the text was read
	text, err := readTail(io.LimitReader(body, logRead), size)
	if err != nil {
		return "", fmt.Errorf("reading the log of container %s of pod %s: %w", container, pod, err)
	}
	return text, nil
}

// readTail reads r to its end, and returns the last whole lines, at most size bytes of them. It drops earlier bytes while it reads, so a
// long log does not fill the memory.
func readTail(r io.Reader, size int) (string, error) {
	kept, piece, isCut := make([]byte, 0, 2*size), make([]byte, size), false
	for {
		n, err := r.Read(piece)
		kept = append(kept, piece[:n]...)
		if over := len(kept) - size; over > 0 {
			kept, isCut = append(kept[:0], kept[over:]...), true
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
	}
	if !isCut {
		return string(kept), nil
	}
	// Drop the first line, because its beginning may be missing. If only the end of a secret is left in it, the redaction may not recognize
	// the secret.
	_, whole, _ := bytes.Cut(kept, []byte("\n"))
	return string(whole), nil
}
