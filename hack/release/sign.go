// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const signatureSuffix = ".sig"

// signer signs files with cosign.
type signer struct{ cosign, key string }

// findSigner returns a signer, or nil and the reason why nothing can be signed.
func findSigner() (*signer, string) {
	key := os.Getenv("COSIGN_KEY")
	if key == "" {
		return nil, "nothing was signed: COSIGN_KEY is not given"
	}
	cosign, err := exec.LookPath("cosign")
	if err != nil {
		return nil, "nothing was signed: COSIGN_KEY is given, but cosign is not on the PATH"
	}
	return &signer{cosign, key}, ""
}

// sign writes the signature of a file to FILE.sig. It does not upload the signature to the public transparency log: building a release publishes nothing.
func (s *signer) sign(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, s.cosign, "sign-blob", "--yes", "--tlog-upload=false", "--key", s.key, "--output-signature", file+signatureSuffix, file)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("signing %s with cosign: %w\n%s", file, err, strings.TrimSpace(string(said)))
	}
	return nil
}
