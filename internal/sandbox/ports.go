// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
)

// All ports are below the range from which Linux takes ports for outgoing connections (32768 and up). If the port of a stopped cluster
// were in that range, an outgoing connection could use this port when the cluster starts again.
const (
	firstPort = 20000
	lastPort  = 32000
)

// freePorts chooses a port for each key and adds it to taken. It chooses only ports that are not in taken, and on which nothing listens.
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
			continue // something listens on the port
		}
		return port, l.Close()
	}
	return 0, errors.New("no port between 20000 and 32000 is free")
}

// takenPorts returns the ports of all sandboxes, also of those that do not run.
func takenPorts(cache string) (map[int]bool, error) {
	taken := map[int]bool{}
	names, err := Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		st, err := readState(filepath.Join(cache, "sandboxes", name))
		if err != nil {
			continue // skip an unreadable state: freePort still avoids the ports on which its processes listen
		}
		for _, c := range st.Clusters {
			for _, port := range c.Ports {
				taken[port] = true
			}
		}
	}
	return taken, nil
}
