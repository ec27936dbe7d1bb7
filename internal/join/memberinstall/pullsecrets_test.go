// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// pullSecret is a pull secret in fairlead-system. Its content is the name of the cluster where it was created. If copied is
// true, it is the copy of a join.
func pullSecret(name, cluster string, copied bool) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name, Labels: map[string]string{}}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(cluster)}}
	if copied {
		membercollector.MarkOurs(s.Labels)
	}
	return s
}

// pulling adds the names of pull secrets to the pods of a Deployment.
func pulling(d *appsv1.Deployment, names ...string) *appsv1.Deployment {
	for _, name := range names {
		d.Spec.Template.Spec.ImagePullSecrets = append(d.Spec.Template.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return d
}

func TestAMemberChoosesNoSecretOfTheHost(t *testing.T) {
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: membercollector.Manager}}
	manager.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: "r/manager:v1"}}
	pulling(manager, "managers")
	for name, tc := range map[string]struct {
		given     []string
		present   []string // in the collector's Deployment on the member; nil without one
		onMember  []client.Object
		want      map[string]string // the content of each Secret on the member
		wantNotes []string
		wantErr   string
	}{
		"the first join copies the manager's": {want: map[string]string{"managers": "host"}},
		"it copies what the person names":     {given: []string{"other"}, want: map[string]string{"other": "host"}},
		"a later join refreshes the manager's": {present: []string{"managers"}, onMember: []client.Object{pullSecret("managers", "earlier", true)},
			want: map[string]string{"managers": "host"}},
		"a name that the member's people add is not copied": {present: []string{"managers", "other"},
			want: map[string]string{"managers": "host"}, wantNotes: []string{"pull secret other does not exist there"}},
		"nor with a Secret that looks like a copy": {present: []string{"other"}, onMember: []client.Object{pullSecret("other", "member", true)},
			want: map[string]string{"other": "member"}, wantNotes: []string{"pull secret other stays as it is"}},
		"nor over one of theirs": {present: []string{"other"}, onMember: []client.Object{pullSecret("other", "member", false)},
			want: map[string]string{"other": "member"}},
		"the person may name it again": {given: []string{"other"}, present: []string{"other"}, onMember: []client.Object{pullSecret("other", "earlier", true)},
			want: map[string]string{"other": "host"}},
		"the host must have what the person names": {given: []string{"nowhere"}, wantErr: "neither the host nor member east has the Secret fairlead-system/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			host := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(pullSecret("managers", "host", false), pullSecret("other", "host", false)).Build()
			objects := tc.onMember
			if tc.present != nil {
				objects = append(slices.Clone(objects), pulling(membercollector.Deployment(membercollector.Settings{ClusterName: "east", Image: "r/collector:v1"}), tc.present...))
			}
			member := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(objects...).Build()
			var notes []string
			p := cluster.Pair{Host: cluster.Cluster{Client: host, Name: "the host"}, Member: cluster.Cluster{Client: member, Name: "member east"},
				Steps: steps.NewRecorder(func(s steps.Step) {
					if s.Outcome == steps.Noted {
						notes = append(notes, s.What)
					}
				})}
			c := Collector{Mode: v1alpha1.CollectorMember}
			err := c.Settle(t.Context(), p.Member, "east", membercollector.Given{PullSecrets: tc.given}, manager)
			if err == nil {
				err = c.putPullSecrets(t.Context(), p, &corev1.ServiceAccount{})
			}
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var on corev1.SecretList
			if err := member.List(t.Context(), &on); err != nil || len(on.Items) != len(tc.want) {
				t.Errorf("%d Secrets, %v", len(on.Items), err)
			}
			for _, s := range on.Items {
				if got := string(s.Data[corev1.DockerConfigJsonKey]); got != tc.want[s.Name] {
					t.Errorf("Secret %s is that of %q, want %q", s.Name, got, tc.want[s.Name])
				}
			}
			for _, want := range tc.wantNotes {
				if !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, want) }) {
					t.Errorf("no note %q in %q", want, notes)
				}
			}
		})
	}
}
