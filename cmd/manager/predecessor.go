// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/lease"
)

// proofOfPredecessor returns the proof that this manager's predecessor is dead. If there is no proof, or a bad one, it
// logs that the manager waits after a crash. The manager starts nevertheless: the wait is safe, and a manager that does
// not run is worse.
func proofOfPredecessor(podUID, lockFile string, log logr.Logger) lease.Proof {
	var (
		proof lease.Proof
		err   error
	)
	switch {
	case podUID != "" && lockFile != "":
		err = errors.New("--pod-uid (or $POD_UID) and --lock-file are both given; give only one of them")
	case podUID != "":
		proof, err = lease.OfPod(podUID)
	case lockFile != "":
		proof, err = lease.OfLockFile(lockFile)
	default:
		err = errors.New("neither --pod-uid (or $POD_UID) nor --lock-file is given, or it is empty")
	}
	if err != nil {
		log.Info("nothing can prove that a crashed predecessor is dead: after a crash this manager waits until the predecessor's lease has expired", "because", err.Error())
	}
	return proof
}
