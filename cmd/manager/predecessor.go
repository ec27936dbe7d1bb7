// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/go-logr/logr"

	"github.com/fairlead-dev/fairlead/internal/lease"
)

// proofOfPredecessor returns the proof by which this manager can know that the leader before it is dead. The proof is based on podUID or lockFile.
// If they give no valid proof, proofOfPredecessor logs the reason and returns the zero Proof. The manager then still starts, but after a crash of the
// leader it waits until the lease expires.
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
		err = errors.New("neither --pod-uid (or $POD_UID) nor --lock-file has a value")
	}
	if err != nil {
		log.Info("this manager cannot prove that the previous leader is dead: after a crash of the leader it waits until the lease has expired", "because", err.Error())
	}
	return proof
}
