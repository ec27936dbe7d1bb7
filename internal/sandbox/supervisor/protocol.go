// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
)

// protocol is the version of the requests. Raise it when an older supervisor would misunderstand a request. Launch replaces a
// supervisor that has another version.
const protocol = 3

// op is the operation that a request asks for.
type op string

const (
	opStatus op = "status"
	opApply  op = "apply"
	opRemove op = "remove"
	opStop   op = "stop"
	opStart  op = "start"
	opDown   op = "down"
)

type socketRequest struct {
	Op        op        `json:"op"`
	Cluster   string    `json:"cluster,omitempty"`
	Name      string    `json:"name,omitempty"`
	Processes []Process `json:"processes,omitempty"`
}

type answer struct {
	Protocol  int      `json:"protocol"`
	Error     string   `json:"error,omitempty"`
	Processes []Status `json:"processes,omitempty"`
}

// serve answers requests until Run closes the listener. After a request opDown it closes the channel down, so that Run returns.
func (s *supervisor) serve(l net.Listener, down chan<- struct{}) {
	once := sync.OnceFunc(func() { close(down) })
	for {
		conn, err := l.Accept()
		if err != nil {
			return // Run has closed the listener and returns next
		}
		go func() {
			defer func() { _ = conn.Close() }() // an error does not matter: the client has its answer, or is gone
			var req socketRequest
			if err := json.NewDecoder(conn).Decode(&req); err != nil {
				s.logf("reading a request: %v", err)
				return
			}
			if err := json.NewEncoder(conn).Encode(s.answer(req)); err != nil {
				s.logf("answering %s: %v", req.Op, err)
			}
			if req.Op == opDown {
				once()
			}
		}()
	}
}

func (s *supervisor) answer(req socketRequest) answer {
	a := s.do(req)
	a.Protocol = protocol
	return a
}

func (s *supervisor) do(req socketRequest) answer {
	if req.Op == opStatus {
		return answer{Processes: s.table.statuses(s.dir)}
	}
	if req.Op == opDown {
		s.logf("going down")
		s.endAll(downGrace)
		return answer{}
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	switch req.Op {
	case opApply:
		if err := s.apply(req.Processes); err != nil {
			return answer{Error: err.Error()}
		}
	case opRemove:
		s.remove(req.Cluster, req.Name)
	case opStop:
		s.stopCluster(req.Cluster, stopGrace)
	case opStart:
		s.startCluster(req.Cluster)
	default:
		return answer{Error: fmt.Sprintf("unknown request %q: probably another version of hostctl started this supervisor. Take the sandbox down and up again", req.Op)}
	}
	return answer{Processes: s.table.statuses(s.dir)}
}
