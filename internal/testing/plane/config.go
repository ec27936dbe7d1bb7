// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

// HostConfig returns the configuration with an administrator's rights for the host of a sandbox. Its clients do not limit the rate of
// their requests, which would slow the tests down. They do not print the warnings of the API server.
func HostConfig(s *sandbox.Sandbox) (*rest.Config, error) {
	config, err := s.RESTConfig(sandbox.HostName)
	if err != nil {
		return nil, err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	return config, nil
}
