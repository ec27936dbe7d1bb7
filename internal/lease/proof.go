// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead-dev/fairlead/internal/filelock"
)

// Proof is a value that no two running processes have at the same time. The manager's name in the lease contains it. So
// if the lease names another process with this process's value, that predecessor is dead. The zero Proof proves nothing:
// with it the manager waits until the lease has expired.
//
// A host name is no proof. Another machine can have the same name, and two processes can run on one machine.
type Proof struct {
	value string
	// lock is the lock on the file of OfLockFile. The process never releases it; nil for other proofs.
	lock *filelock.Lock
}

// isPodUID matches the uid that an API server gives a pod. It does not match the uid of a static pod. That uid is a
// digest that a kubelet computes, so static pods of one manifest on two nodes can have the same uid.
var isPodUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// OfPod returns the proof of a manager that is the only container of a pod: the pod's uid. A kubelet restarts a
// container only after the old one has ended, and no other pod ever gets the uid.
func OfPod(uid string) (Proof, error) {
	if !isPodUID.MatchString(uid) {
		return Proof{}, fmt.Errorf("%.80q is no uid of a pod: take the value from the field metadata.uid by the downward API", uid)
	}
	return Proof{value: "pod-" + uid}, nil
}

// OfLockFile locks a file until the process ends, and returns the proof of this process: the identity of the file, and of
// the kernel that holds the lock. The kernel releases the lock when the process has ended, and never gives it to two
// processes. Content and name of the file prove nothing, because they can be copied.
func OfLockFile(path string) (Proof, error) {
	lock, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrHeld) {
		return Proof{}, fmt.Errorf("another process holds the lock on %s", path)
	}
	if err != nil {
		return Proof{}, err
	}
	kernel, err := kernelID()
	if err == nil {
		var file string
		if file, err = lock.FileID(); err == nil {
			return Proof{value: "lock-" + kernel + "-" + file, lock: lock}, nil
		}
	}
	return Proof{}, errors.Join(fmt.Errorf("identifying lock file %s: %w", path, err), lock.Release())
}

// String returns the value of the proof, "" for the zero Proof.
func (p Proof) String() string { return p.value }

// identity is the name of a process in the lease. It has three parts: the host's name for people, the proof, and a part
// that is unique to this process.
func (p Proof) identity(host, process string) string {
	if p.value == "" {
		return host + "_" + process
	}
	return host + "_" + p.value + "_" + process
}

// covers reports whether this proof shows that the process named identity in the lease is dead. identity must not be the
// name of this process.
func (p Proof) covers(identity string) bool {
	parts := strings.Split(identity, "_")
	return p.value != "" && len(parts) >= 3 && parts[len(parts)-2] == p.value
}
