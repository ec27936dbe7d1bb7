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

// within is the time limit of one completion. It is short, because a person waits at the prompt.
const within = 2 * time.Second

// most is the largest number of names of one kind that a completion reads. The shell asks the user before it shows so many names.
const most = 500

// Wrapper completes the first argument of a command: NAME for a Federated in the namespace of the flags, or cfed/NAME.
func Wrapper(flags *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return bounded(cmd.Context(), begun, func(ctx context.Context) []string { return wrappers(ctx, flags) })
	}
}

// KindAndWrapper completes the arguments of a command that takes NAME or cfed/NAME, like Wrapper, and also a kind and a NAME as two
// arguments.
func KindAndWrapper(flags *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return Wrapper(flags)(cmd, args, begun)
		}
		kind, ok := connect.ParseKind(args[0])
		if len(args) > 1 || !ok {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return bounded(cmd.Context(), begun, func(ctx context.Context) []string { return wrappersOf(ctx, flags, kind) })
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

// Member completes the first argument of a command with the name of a member.
func Member(flags *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return bounded(cmd.Context(), begun, func(ctx context.Context) []string { return members(ctx, flags) })
	}
}

// MemberFlags makes these flags of cmd complete a list of members, with commas between them. It panics if cmd does not have one of the
// flags.
func MemberFlags(cmd *cobra.Command, flags *genericclioptions.ConfigFlags, names ...string) {
	ListFlags(cmd, func(ctx context.Context, _ []string) []string { return members(ctx, flags) }, names...)
}

// ListFlags makes the given flags of cmd complete a list, with commas between its items. The function find returns the possible items
// for the arguments of the command. ListFlags panics if cmd lacks one of the flags.
func ListFlags(cmd *cobra.Command, find func(ctx context.Context, args []string) []string, names ...string) {
	for _, name := range names {
		err := cmd.RegisterFlagCompletionFunc(name,
			func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return bounded(cmd.Context(), begun, func(ctx context.Context) []string {
					earlier := begun[:strings.LastIndex(begun, ",")+1]
					list := find(ctx, args)
					for i := range list {
						list[i] = earlier + list[i]
					}
					return list
				})
			})
		if err != nil {
			panic(err) // a mistake in the code of the command: it has no such flag
		}
	}
}

// bounded calls the function list, and returns the results that begin with the text begun. It returns nothing if the call takes longer
// than the time limit within. bounded cannot simply wait for the call: the call may start a credential plugin of the kubeconfig,
// which does not stop when the context ends.
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
	list := wrappersOf(ctx, flags, v1alpha1.KindFederated)
	for _, name := range wrappersOf(ctx, flags, v1alpha1.KindClusterFederated) {
		list = append(list, "cfed/"+name)
	}
	return list
}

// wrappersOf returns the names of the wrappers of one kind. For Federateds, it lists only the namespace of the flags.
func wrappersOf(ctx context.Context, flags *genericclioptions.ConfigFlags, kind v1alpha1.WrapperKind) []string {
	if kind == v1alpha1.KindClusterFederated {
		return names(ctx, hostOf(flags), "clusterfederateds", "")
	}
	namespace, err := connect.Namespace(flags)
	if err != nil {
		return nil
	}
	return names(ctx, hostOf(flags), "federateds", namespace)
}

func members(ctx context.Context, flags *genericclioptions.ConfigFlags) []string {
	return names(ctx, hostOf(flags), "memberclusters", "")
}

// hostOf returns a client for the host. The client prints no warnings: they would disturb the prompt. It returns nil without a usable
// kubeconfig.
func hostOf(flags *genericclioptions.ConfigFlags) metadata.Interface {
	config, err := connect.Config(flags)
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

// names returns the names of the objects of one kind, at most as many as the constant most. It returns nil if the host does not answer.
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
