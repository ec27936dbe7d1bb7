// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// tailBytes is the number of bytes that the method dump saves from the end of the manager's log.
const tailBytes = 256 << 10

var unfitForFiles = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// dump writes the state of the fleet after a failed spec into the fleet's folder in _artifacts, one file for each part. If it cannot read a
// part, it writes the error into that file.
func (f *TestFleet) dump(ctx context.Context, spec types.SpecReport) {
	sentence := strings.Trim(unfitForFiles.ReplaceAllString(spec.FullText(), "-"), "-")
	dir := filepath.Join(f.repo, "_artifacts", f.Name, sentence[:min(len(sentence), 120)])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		GinkgoWriter.Printf("dumping: %v\n", err)
		return
	}
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			GinkgoWriter.Printf("dumping: %v\n", err)
		}
	}
	write("failure.txt", []byte(spec.FullText()+"\n\n"+spec.FailureMessage()+"\n"+spec.FailureLocation().String()+"\n\n"+f.standing(ctx)))
	for name, list := range map[string]client.ObjectList{
		"federateds": &v1alpha1.FederatedList{}, "clusterfederateds": &v1alpha1.ClusterFederatedList{},
		"memberclusters": &v1alpha1.MemberClusterList{}, "memberreports": &v1alpha1.MemberReportList{}, "events": &corev1.EventList{},
	} {
		write("host-"+name+".yaml", provider.ListAsYAML(ctx, f.Host, f.Host.Name, list))
	}
	for _, c := range f.Members() {
		write(c.Name+"-deliveries.yaml", provider.ListAsYAML(ctx, c, c.Name, &v1alpha1.DeliveryList{}))
		write(c.Name+"-memberships.yaml", provider.ListAsYAML(ctx, c, c.Name, &v1alpha1.MembershipList{}))
	}
	write("manager.log", tailOf(f.ManagerLog(ctx)))
	if err := f.Export(ctx, dir); err != nil {
		GinkgoWriter.Printf("dumping: %v\n", err)
	}
	AddReportEntry("the state of the fleet was saved in", dir)
}

// standing returns kubectl's tables of wrappers and members, and the last 2000 bytes of the manager's log.
func (f *TestFleet) standing(ctx context.Context) string {
	wrappers := f.Kubectl(ctx, "get", "federation", "-A", "-o", "wide")
	members := f.Kubectl(ctx, "get", "memberclusters", "-o", "wide")
	logged := tailOf(f.ManagerLog(ctx))
	return wrappers.Stdout + wrappers.Stderr + members.Stdout + members.Stderr + string(logged[max(0, len(logged)-2000):]) + "\n"
}

func tailOf(log []byte) []byte { return log[max(0, len(log)-tailBytes):] }
