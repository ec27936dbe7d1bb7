// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

// lean makes Go collect garbage more often, so that four control planes fit into the memory of a laptop. With GOGC=20, four of them with OLM and Fairlead have
// 3.1 GB of resident memory. They need about 15 % more CPU while they start than with GOGC=50. Half of the memory is program text,
// which the processes share.
var lean = []string{"GOGC=20"}

// Processes returns the processes of the cluster, each after the processes that it needs. They connect to loopback only, so they inherit no proxy
// settings.
func (s Spec) Processes() []supervisor.Process {
	list := []supervisor.Process{s.etcd(), s.apiServer(), s.controllerManager(), s.scheduler(), s.kwok()}
	reads := map[string][]string{
		binaries.Kwok:      {s.file("kwok.yaml"), s.file("pod.log")},
		binaries.APIServer: {s.file("audit.yaml")},
	}
	for i := range list {
		list[i].Cluster = s.Name
		list[i].Stamp = stamp(list[i].Path, reads[list[i].Name]...)
		list[i].Env = []string{"HOME=" + s.Dir} // with the user's HOME, KWOK would also read the user's own settings
		if !s.MoreMemory {
			list[i].Env = append(list[i].Env, lean...)
		}
		list[i].Unset = []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy", "KUBECONFIG"}
	}
	return list
}

// stamp returns a text that changes if the link at the path program leads to another file, or if one of the files has another content.
// It is for Process.Stamp.
func stamp(program string, files ...string) string {
	h := sha256.New()
	target, err := filepath.EvalSymlinks(program)
	if err != nil {
		target = program // the program does not exist, which the supervisor reports at the start
	}
	_, _ = io.WriteString(h, target)
	for _, f := range files {
		content, _ := os.ReadFile(f) // if the file is missing, the program reports that at its start
		_, _ = h.Write(content)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

func (s Spec) etcd() supervisor.Process {
	client, peer := "https://"+s.address(portEtcd), "https://"+s.address(portEtcdPeer)
	cert, key := s.pki(pairEtcd+".crt"), s.pki(pairEtcd+".key")
	args := []string{
		"--name=" + s.Name, "--data-dir=" + s.Data(), "--log-level=warn",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=" + s.Name + "=" + peer,
		"--client-cert-auth", "--cert-file=" + cert, "--key-file=" + key, "--trusted-ca-file=" + cert,
		"--peer-client-cert-auth", "--peer-cert-file=" + cert, "--peer-key-file=" + key, "--peer-trusted-ca-file=" + cert,
		"--snapshot-count=5000", // etcd keeps fewer entries in memory
	}
	if !s.Fsync {
		args = append(args, "--unsafe-no-fsync") // data survives a crash of etcd, but not a crash of the machine
	}
	return supervisor.Process{
		Name: binaries.Etcd, Path: s.program(binaries.Etcd), Args: args,
		ReadyURL: client + "/readyz", ReadyCA: cert, ReadyCert: cert, ReadyKey: key,
	}
}

func (s Spec) apiServer() supervisor.Process {
	args := []string{
		"--etcd-servers=https://" + s.address(portEtcd), "--etcd-cafile=" + s.pki(pairEtcd+".crt"),
		"--etcd-certfile=" + s.pki(pairEtcd+".crt"), "--etcd-keyfile=" + s.pki(pairEtcd+".key"),
		"--bind-address=127.0.0.1", "--secure-port=" + s.port(portAPIServer), "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // without it, the API server writes a loopback address into Endpoints, which its own validation refuses
		"--service-cluster-ip-range=10.96.0.0/16",
		"--tls-cert-file=" + s.pki(pairServing+".crt"), "--tls-private-key-file=" + s.pki(pairServing+".key"),
		"--client-ca-file=" + s.pki(pairCA+".crt"),
		"--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + s.pki(accountPub), "--service-account-signing-key-file=" + s.pki(accountKey),
		"--requestheader-client-ca-file=" + s.pki(pairCA+".crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + s.pki(pairFrontProxy+".crt"), "--proxy-client-key-file=" + s.pki(pairFrontProxy+".key"),
		"--kubelet-certificate-authority=" + s.pki(pairCA+".crt"),
		"--kubelet-client-certificate=" + s.pki(pairKubelet+".crt"), "--kubelet-client-key=" + s.pki(pairKubelet+".key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--profiling=false",
		"--shutdown-watch-termination-grace-period=1s", // without it, a stop waits for every watcher
	}
	if s.Audit {
		args = append(args, "--audit-policy-file="+s.file("audit.yaml"), "--audit-log-path="+s.AuditLog(),
			"--audit-log-maxsize=200", "--audit-log-maxbackup=2")
	}
	return supervisor.Process{
		Name: binaries.APIServer, Path: s.program(binaries.APIServer), Args: append(args, s.APIServerArgs...),
		After: []string{binaries.Etcd}, ReadyURL: s.Server() + "/readyz", ReadyCA: s.pki(pairCA + ".crt"),
	}
}

func (s Spec) controllerManager() supervisor.Process {
	return s.standing(binaries.ControllerManager, portController, "/healthz",
		"--kubeconfig="+s.file("kube-controller-manager.conf"),
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port="+s.port(portController), "--profiling=false",
		"--tls-cert-file="+s.pki(pairServing+".crt"), "--tls-private-key-file="+s.pki(pairServing+".key"),
		"--controllers=*", "--use-service-account-credentials=true",
		"--root-ca-file="+s.pki(pairCA+".crt"), "--service-account-private-key-file="+s.pki(accountKey),
		"--cluster-signing-cert-file="+s.pki(pairCA+".crt"), "--cluster-signing-key-file="+s.pki(pairCA+".key"),
		"--node-monitor-grace-period=8760h", "--node-monitor-period=15s", // long, because KWOK renews no node leases (see method kwok)
	)
}

func (s Spec) scheduler() supervisor.Process {
	return s.standing(binaries.Scheduler, portScheduler, "/healthz",
		"--kubeconfig="+s.file("kube-scheduler.conf"),
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port="+s.port(portScheduler), "--profiling=false",
		"--tls-cert-file="+s.pki(pairServing+".crt"), "--tls-private-key-file="+s.pki(pairServing+".key"),
	)
}

func (s Spec) kwok() supervisor.Process {
	return s.standing(binaries.Kwok, portKwok, "/healthz",
		"--kubeconfig="+s.file("kwok.conf"), "--config="+s.file("kwok.yaml"),
		"--manage-all-nodes=true", "--node-ip=127.0.0.1", "--node-port="+s.port(portKwok),
		"--server-address="+s.address(portKwok),
		"--tls-cert-file="+s.pki(pairServing+".crt"), "--tls-private-key-file="+s.pki(pairServing+".key"),
		// KWOK keeps no node leases. With leases, a restarted KWOK would wait until the leases of its predecessor expire, and
		// all pods would wait as well.
		"--node-lease-duration-seconds=0",
	)
}

// standing returns a process that needs the API server. It has a port of its own, with a health endpoint at the URL path in the
// argument path.
func (s Spec) standing(name, port, path string, args ...string) supervisor.Process {
	return supervisor.Process{
		Name: name, Path: s.program(name), Args: args, After: []string{binaries.APIServer},
		ReadyURL: "https://" + s.address(port) + path, ReadyCA: s.pki(pairCA + ".crt"),
	}
}
