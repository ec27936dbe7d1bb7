// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// pluginFile is the name of the file that `kubectl fairlead` runs. krew makes it a link to hostctl.
	pluginFile = "kubectl-fairlead"
	// pluginCommand is the command that a user of the plugin types.
	pluginCommand = "kubectl fairlead"
)

// isPlugin reports whether the program was started as a plugin of kubectl.
func isPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == pluginFile
}

// ownName finds hostctl as a word of its own, and not inside a path or a longer name.
var ownName = regexp.MustCompile(`(^|[^\w/.-])hostctl($|[^\w/-])`)

// asPlugin makes all usage texts name the command that a user of the plugin types. The command completion goes: kubectl completes
// the arguments of its plugins, with the script kubectl_complete-fairlead.
func asPlugin(root *cobra.Command) {
	rename := func(text *string) { *text = ownName.ReplaceAllString(*text, "${1}"+pluginCommand+"${2}") }
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: pluginCommand}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate(pluginCommand + " {{.Version}}\n")
	var renameAll func(*cobra.Command)
	renameAll = func(cmd *cobra.Command) {
		rename(&cmd.Short)
		rename(&cmd.Long)
		rename(&cmd.Example)
		cmd.Flags().VisitAll(func(f *pflag.Flag) { rename(&f.Usage) })
		for _, c := range cmd.Commands() {
			renameAll(c)
		}
	}
	renameAll(root)
}
