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
	// pluginFile is the name of the file that kubectl runs for `kubectl fairlead`. krew creates it as a link to hostctl.
	pluginFile = "kubectl-fairlead"
	// pluginCommand is what a user of the plugin types in place of hostctl.
	pluginCommand = "kubectl fairlead"
)

// isPlugin reports whether kubectl started hostctl as its plugin. program is the path with which the process was started.
func isPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == pluginFile
}

// ownName matches the word hostctl, but not as a part of a path or of a longer name.
var ownName = regexp.MustCompile(`(^|[^\w/.-])hostctl($|[^\w/-])`)

// asPlugin replaces hostctl by `kubectl fairlead` in all help texts. It removes the command completion: kubectl completes the arguments of
// a plugin with the plugin's own script kubectl_complete-fairlead.
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
