// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/pem"
	"errors"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// caBundle returns the root certificates that an image trusts, as PEM. It leaves out roots with a constraint, because PEM cannot express constraints: a
// program would trust them without the constraint.
func caBundle() ([]byte, error) {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	if all.Len() == 0 {
		return nil, errors.New("making the CA bundle: the module x509roots holds no certificate")
	}
	return all.Bytes(), nil
}
