// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
)

// Ports come from below the range in which Linux picks the local port of outgoing connections (32768 up): a cluster
// that is stopped must not find its port lent to somebody's connection when it starts again.
const (
	firstPort = 20000
	lastPort  = 32000
)

// freePorts chooses ports for keys that nobody listens on and that are not in taken, and adds them to taken.
func freePorts(keys []string, taken map[int]bool) (map[string]int, error) {
	ports := map[string]int{}
	for _, key := range keys {
		port, err := freePort(taken)
		if err != nil {
			return nil, fmt.Errorf("choosing a port for %s: %w", key, err)
		}
		taken[port], ports[key] = true, port
	}
	return ports, nil
}

func freePort(taken map[int]bool) (int, error) {
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if taken[port] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // in use
		}
		return port, l.Close()
	}
	return 0, errors.New("found none free between 20000 and 32000")
}

// takenPorts are those that any sandbox has chosen, running or not.
func takenPorts(cache string) (map[int]bool, error) {
	taken := map[int]bool{}
	names, err := Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		st, err := readState(filepath.Join(cache, "sandboxes", name))
		if err != nil {
			continue // half made or broken: its ports are not known, those in use are seen by listening
		}
		for _, c := range st.Clusters {
			for _, port := range c.Ports {
				taken[port] = true
			}
		}
	}
	return taken, nil
}
