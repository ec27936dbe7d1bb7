// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// inputsLabel is a label of the node image. Its value is a digest of everything from which the image was built.
const inputsLabel = "dev.fairlead.kind-node.inputs"

// startEngine starts dockerd, unless a container engine responds already. If systemd does not run on this machine, dockerd becomes a
// process in the background. If capSysResource is false, this machine lacks the capability CAP_SYS_RESOURCE, and dockerd in the
// background uses a runc that works without it.
func startEngine(ctx context.Context, work workFolder, capSysResource bool, progress io.Writer) error {
	if answers(ctx) == nil {
		if runtime, err := command(ctx, "docker", "info", "--format", "{{.DefaultRuntime}}"); err == nil && !capSysResource && strings.TrimSpace(runtime) == "runc" {
			fmt.Fprintln(progress, "! the running container engine can build images, but cannot start nodes of kind: its runc needs CAP_SYS_RESOURCE, which this machine lacks."+
				" Stop the engine (kill $(cat /run/docker.pid)) and run `make kind-node` again: where no systemd runs, it starts dockerd with a runc that does without")
		}
		return nil
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		fmt.Fprintln(progress, "• starting the engine: systemctl start docker")
		if _, err := command(ctx, "systemctl", "start", "docker"); err != nil {
			return err
		}
		return awaitEngine(ctx, nil, "journalctl -u docker")
	}
	args := []string{}
	if !capSysResource {
		runc := work.path("runc-without-sys-resource")
		script, err := sources.ReadFile("programs/runc-without-sys-resource.sh")
		if err != nil {
			return err
		}
		if err := os.WriteFile(runc, script, 0o755); err != nil {
			return err
		}
		args = append(args, "--oom-score-adjust=0", "--add-runtime=limited="+runc, "--default-runtime=limited")
	}
	log, err := os.Create(work.path("dockerd.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("dockerd", args...) // without ctx: the engine has to go on when this program ends
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting dockerd: %w", err)
	}
	pid := cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	fmt.Fprintf(progress, "• started the engine: dockerd %s; kill %d stops it\n", strings.Join(args, " "), pid)
	return awaitEngine(ctx, ended, log.Name())
}

// awaitEngine waits until the engine responds. It returns an error if dockerd ends, or if the engine does not respond within a minute.
func awaitEngine(ctx context.Context, ended <-chan error, log string) error {
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		last := answers(ctx)
		if last == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("dockerd ended (%w): see %s", errors.Join(err, last), log)
		case <-deadline.C:
			return fmt.Errorf("the engine does not answer within a minute: %w; see %s", last, log)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// answers returns nil if a container engine responds to the docker command.
func answers(ctx context.Context) error {
	_, err := command(ctx, "docker", "version", "--format", "{{.Server.Version}}")
	return err
}

// loaded reports whether the engine has a node image of this name that was built from inputs with this digest.
func loaded(ctx context.Context, image, inputs string) bool {
	label, err := command(ctx, "docker", "image", "inspect", "--format", `{{index .Config.Labels "`+inputsLabel+`"}}`, image)
	return err == nil && label == inputs
}
