// SPDX-License-Identifier: Apache-2.0

package complete

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
)

// within is the time limit for all names of one completion.
const within = 2 * time.Second

// most is the largest number of names of one kind: a shell asks before it shows more.
const most = 500

// Wrapper completes the first argument of a command: NAME of a Federated in the namespace of the flags, or cfed/NAME.
func Wrapper(flags *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return bounded(cmd.Context(), begun, func(ctx context.Context) []string { return wrappers(ctx, flags) })
	}
}

// WrapperAndMembers completes the first argument of a command like Wrapper, and each further one with the name of a member.
func WrapperAndMembers(flags *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return Wrapper(flags)(cmd, args, begun)
		}
		return bounded(cmd.Context(), begun, func(ctx context.Context) []string { return members(ctx, flags) })
	}
}

// Member completes the first argument of a command: the name of a member.
func Member(flags *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return bounded(cmd.Context(), begun, func(ctx context.Context) []string { return members(ctx, flags) })
	}
}

// MemberFlags completes names of members, separated by commas, in some flags of cmd. It panics if cmd has no such flag.
func MemberFlags(cmd *cobra.Command, flags *genericclioptions.ConfigFlags, names ...string) {
	for _, name := range names {
		err := cmd.RegisterFlagCompletionFunc(name,
			func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return bounded(cmd.Context(), begun, func(ctx context.Context) []string {
					earlier := begun[:strings.LastIndex(begun, ",")+1]
					list := members(ctx, flags)
					for i := range list {
						list[i] = earlier + list[i]
					}
					return list
				})
			})
		if err != nil {
			panic(err) // the flag's name is wrong in the code
		}
	}
}

// bounded returns the names that begin with begun, if list returns them in time. It does not wait for list any longer, because a
// credential plugin in a kubeconfig does not end with the context.
func bounded(ctx context.Context, begun string, list func(context.Context) []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	answer := make(chan []string, 1)
	go func() { answer <- list(ctx) }()
	var names []string
	select {
	case names = <-answer:
	case <-ctx.Done():
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, begun) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// wrappers returns NAME for each Federated in the namespace and cfed/NAME for each ClusterFederated.
func wrappers(ctx context.Context, flags *genericclioptions.ConfigFlags) []string {
	namespace, err := connect.Namespace(flags)
	if err != nil {
		return nil
	}
	host := hostOf(flags)
	list := names(ctx, host, "federateds", namespace)
	for _, name := range names(ctx, host, "clusterfederateds", "") {
		list = append(list, "cfed/"+name)
	}
	return list
}

func members(ctx context.Context, flags *genericclioptions.ConfigFlags) []string {
	return names(ctx, hostOf(flags), "memberclusters", "")
}

// hostOf returns a client that prints no warnings, or nil without a usable kubeconfig.
func hostOf(flags *genericclioptions.ConfigFlags) metadata.Interface {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil
	}
	config = rest.CopyConfig(config)
	config.Timeout, config.WarningHandler = within, rest.NoWarnings{}
	host, err := metadata.NewForConfig(config)
	if err != nil {
		return nil
	}
	return host
}

// names lists the names of one kind. It returns nil if the host does not answer.
func names(ctx context.Context, host metadata.Interface, resource, namespace string) []string {
	if host == nil {
		return nil
	}
	list, err := host.Resource(v1alpha1.GroupVersion.WithResource(resource)).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: most})
	if err != nil {
		return nil
	}
	found := make([]string, len(list.Items))
	for i := range list.Items {
		found[i] = list.Items[i].Name
	}
	return found
}
