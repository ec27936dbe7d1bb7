// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/prometheus/procfs"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// The work "idle" measures how much memory the manager needs for one member that has nothing to do. A process of its own holds
// connections to many members, and the bench divides the growth of this process's memory by the number of members. A second process
// simulates all these members with one API server, over TLS and HTTP/2 and without Deliveries. A simulated member is enough: the cost
// on the host does not depend on what runs on the member.
const (
	idleMembers = 200
	// partVariable is the environment variable that names a role: this program starts itself again in that role.
	partVariable = "FAIRLEAD_BENCH_PART"
	partServer   = "members"
	partHolder   = "holder"
)

// playAPartIfAsked runs the program in the role that partVariable names, and then exits. Without a role it returns.
func playAPartIfAsked() {
	var err error
	switch os.Getenv(partVariable) {
	case partServer:
		err = serveMembers()
	case partHolder:
		err = hold()
	case partFloor:
		err = runErrand()
	default:
		return
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play returns a command that runs this program again, in a role. Its errors go to standard error.
func play(ctx context.Context, part string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.CommandContext(ctx, self)
	process.Env, process.Stderr = append(os.Environ(), partVariable+"="+part), os.Stderr
	return process, nil
}

// serverAddress has the URL at which the process of the simulated members listens, and the certificate of that process.
type serverAddress struct {
	URL string `json:"url"`
	CA  []byte `json:"ca"`
}

const idleUID = "00000000-0000-0000-0000-00000000000"

// serveMembers responds like members that have nothing to do, until its standard input ends.
func serveMembers() error {
	answer := func(w http.ResponseWriter, body any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // an error means that the client has gone
	}
	mux := http.NewServeMux()
	base := "/apis/" + v1alpha1.GroupVersion.String()
	mux.HandleFunc("GET "+base+"/memberships/self", func(w http.ResponseWriter, _ *http.Request) {
		m := &v1alpha1.Membership{}
		m.APIVersion, m.Kind, m.Name, m.UID = v1alpha1.GroupVersion.String(), "Membership", "self", idleUID+"1"
		m.Spec.Host.UID = idleUID + "2"
		m.Status.RenewTime = metav1.NowMicro()
		answer(w, m)
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
	})
	mux.HandleFunc("GET /api/v1/namespaces/kube-system", func(w http.ResponseWriter, _ *http.Request) {
		ns := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}}
		ns.Name, ns.UID = "kube-system", idleUID+"1"
		answer(w, ns)
	})
	mux.HandleFunc("GET "+base+"/namespaces/{ns}/deliveries", serveDeliveries(answer))
	mux.HandleFunc("GET "+base+"/deliveries", serveDeliveries(answer))
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := json.NewEncoder(os.Stdout).Encode(serverAddress{URL: server.URL, CA: ca}); err != nil {
		return err
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // returns when the bench closes standard input, or has ended itself
	return nil
}

func serveDeliveries(answer func(http.ResponseWriter, any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			list := &v1alpha1.DeliveryList{Items: []v1alpha1.Delivery{}}
			list.APIVersion, list.Kind, list.ResourceVersion = v1alpha1.GroupVersion.String(), "DeliveryList", "1"
			answer(w, list)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush() // the header of a watch response; no event follows
		<-r.Context().Done()
	}
}

// hold opens the connections, and prints as JSON how many bytes of memory and how many goroutines one connection needs.
func hold() error {
	where := serverAddress{}
	if err := json.NewDecoder(os.Stdin).Decode(&where); err != nil {
		return err
	}
	ctx := context.Background()
	fleet := member.NewFleet(member.Host{UID: idleUID + "2"}, clock.RealClock{})
	store := deliveries.NewStore(clock.RealClock{})
	pusher := push.New(fleet, store, clock.RealClock{}, push.Host{}, func(push.Key) {})
	go func() { _ = fleet.Start(ctx, pusher) }() // the error is that ctx has ended, which never happens here
	open := func(from, to int) error {
		for i := from; i < to; i++ {
			config := &rest.Config{Host: where.URL, BearerToken: fmt.Sprintf("token-%d", i), QPS: -1}
			config.CAData = where.CA
			config.ServerName = "example.com" // httptest's certificate has this name
			if err := fleet.Connect(ctx, fmt.Sprintf("m-%d", i), config, idleUID+"1"); err != nil {
				return err
			}
		}
		deadline := time.Now().Add(time.Minute)
		for i := from; i < to; {
			if store.Record(deliveries.Key{}, fmt.Sprintf("m-%d", i)).Listed {
				i++
				continue
			}
			if standing, _ := fleet.LastProbe(fmt.Sprintf("m-%d", i)); time.Now().After(deadline) {
				return fmt.Errorf("member m-%d is not listed: %+v", i, standing)
			}
			time.Sleep(10 * time.Millisecond)
		}
		return settle(ctx)
	}
	// The first connections do not count: they allocate the data that all connections share.
	const first = 10
	if err := open(0, first); err != nil {
		return err
	}
	before, err := resident()
	if err != nil {
		return err
	}
	goroutines := runtime.NumGoroutine()
	if err := open(first, first+idleMembers); err != nil {
		return err
	}
	after, err := resident()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"rssBytesPerMember":   float64(after-before) / idleMembers,
		"goroutinesPerMember": float64(runtime.NumGoroutine()-goroutines) / idleMembers,
	})
}

// settle waits until all connections have opened their watches and have been probed. It assumes this when the number of goroutines has
// not changed for three seconds.
func settle(ctx context.Context) error {
	n, since := runtime.NumGoroutine(), time.Now()
	for time.Since(since) < 3*time.Second {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if now := runtime.NumGoroutine(); now != n {
			n, since = now, time.Now()
		}
	}
	return nil
}

// resident returns the resident memory of this process, in bytes, after a garbage collection.
func resident() (int, error) {
	debug.FreeOSMemory()
	p, err := procfs.Self()
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return stat.ResidentMemory(), err
}

// holdIdle runs the work "idle".
func holdIdle(ctx context.Context, p *progress.Printer) (r *reading, err error) {
	step := p.Step("%s: hold %d members that have nothing to do", idleWork, idleMembers)
	defer func() {
		if err != nil {
			step.Fail(err)
			return
		}
		step.Done()
	}()
	server, err := play(ctx, partServer)
	if err != nil {
		return nil, err
	}
	end, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end.Close(), server.Wait()) }()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		return nil, err
	}
	holder, err := play(ctx, partHolder)
	if err != nil {
		return nil, err
	}
	holder.Stdin = strings.NewReader(line)
	out, err := holder.Output()
	if err != nil {
		return nil, fmt.Errorf("holding %d members: %w", idleMembers, err)
	}
	r = &reading{}
	return r, json.Unmarshal(out, &r.More)
}
