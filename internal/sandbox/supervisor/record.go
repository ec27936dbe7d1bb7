// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	recordName = "processes.json"
	socketName = "supervisor.sock"
	lockName   = "supervisor.lock"
	logName    = "supervisor.log"
)

// processRecord is the content of the record.
type processRecord struct {
	Supervisor Identity   `json:"supervisor"`
	Stopped    []string   `json:"stopped,omitempty"` // the stopped clusters
	Processes  []recorded `json:"processes"`
}

type recorded struct {
	Process
	Running Identity `json:"running,omitzero"`
}

func readRecord(dir string) (processRecord, error) {
	var r processRecord
	content, err := os.ReadFile(filepath.Join(dir, recordName))
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("reading the record of processes: %w", err)
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return r, fmt.Errorf("reading the record of processes %s: %w", filepath.Join(dir, recordName), err)
	}
	return r, nil
}

func (r processRecord) write(dir string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the record of processes: %w", err)
	}
	path := filepath.Join(dir, recordName)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("writing the record of processes: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing the record of processes: %w", err)
	}
	return nil
}

// endLeftovers ends recorded programs that run although their supervisor is dead. It compares identities, so another process with the same pid gets no signal.
func (r processRecord) endLeftovers(ctx context.Context, grace time.Duration) error {
	var errs []error
	for _, p := range slices.Backward(r.Processes) {
		if err := p.Running.End(ctx, grace); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Key(), err))
		}
	}
	return errors.Join(errs...)
}
