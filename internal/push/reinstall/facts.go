// SPDX-License-Identifier: Apache-2.0

package reinstall

import (
	"context"
	"fmt"
	"strconv"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// The largest numbers of objects of one namespace that the manager reads. Where there are more, it keeps the operator.
const (
	maxCSVs  = csvPage * maxCSVPages
	maxPlans = 50
	maxCRDs  = 100
)

const (
	// csvPage is the largest number of CSVs in one answer. A CSV can have hundreds of KiB, and an answer is bounded.
	csvPage = 200
	// maxCSVPages bounds the time of an attempt. OLM copies the CSV of each global operator into every namespace, so a namespace can have
	// more than one page.
	maxCSVPages = 5
)

var (
	groupsGVR   = schema.GroupVersionResource{Group: operators.GroupName, Version: "v1", Resource: "operatorgroups"}
	packagesGVR = schema.GroupVersionResource{Group: "packages.operators.coreos.com", Version: "v1", Resource: "packagemanifests"}
)

// reader reads objects of one namespace of a member. The first answer that it cannot use ends the reading: unread then says why.
// An error concerns the member as a whole.
type reader struct {
	conn      *member.Conn
	namespace string
	unread    string
}

// refused notes why an object could not be read. It returns an error if err concerns the whole member instead.
func (r *reader) refused(what, group string, err error) error {
	if boundedread.IsTooLarge(err) {
		r.unread = tooLarge(what)
		return nil
	}
	if memberapi.AnsweredAbout(group, err) {
		r.unread = memberapi.ExplainWithout("get, list", "reading", what, err).Message
		return nil
	}
	return fmt.Errorf("reading %s on member %s: %w", what, r.conn.Name(), err)
}

// tooLarge is why something could not be read whose answer is too large.
func tooLarge(what string) string {
	return "the manager cannot read " + what + ", because the answer is too large; use another namespace"
}

// list reads a list into a pointer to a struct.
func (r *reader) list(ctx context.Context, gvr schema.GroupVersionResource, kind string, most int, into any, more *string) error {
	if err := r.page(ctx, gvr, kind, most, "", into); err != nil || *more == "" {
		return err
	}
	r.tooMany(kind, most)
	return nil
}

// page reads one page of a list into a pointer to a struct. from is where the page before ended; "" for the first one.
func (r *reader) page(ctx context.Context, gvr schema.GroupVersionResource, kind string, most int, from string, into any) error {
	if r.unread != "" {
		return nil
	}
	what := kind + "s of namespace " + r.namespace
	request := r.conn.REST().Get().AbsPath(member.Path(gvr, r.namespace, "")...).Param("limit", strconv.Itoa(most))
	if from != "" {
		request = request.Param("continue", from)
	}
	answer, err := member.Do(ctx, request, false)
	if err != nil {
		return r.refused(what, gvr.Group, err)
	}
	if err := answer.IntoFields(kind+"List", into); err != nil {
		return fmt.Errorf("reading %s on member %s: %w", what, r.conn.Name(), err)
	}
	return nil
}

// tooMany notes that the namespace has more objects of a kind than the manager reads.
func (r *reader) tooMany(kind string, most int) {
	r.unread = fmt.Sprintf("namespace %s has more than %d %ss, and the manager reads no more; leave fewer, or use another namespace", r.namespace, most, kind)
}

// get reads one object into a pointer to a struct. found is false if the object does not exist. served is false if the member does
// not serve the kind at all.
func (r *reader) get(ctx context.Context, path []string, kind, group, what string, into any) (found, served bool, err error) {
	if r.unread != "" {
		return false, true, nil
	}
	answer, err := member.Do(ctx, r.conn.REST().Get().AbsPath(path...), false)
	switch {
	case memberapi.IsPathGone(err):
		return false, false, nil
	case apierrors.IsNotFound(err):
		return false, true, nil
	case err != nil:
		return false, true, r.refused(what, group, err)
	}
	if err := answer.IntoFields(kind, into); err != nil {
		return false, true, fmt.Errorf("reading %s on member %s: %w", what, r.conn.Name(), err)
	}
	return true, true, nil
}

// listMeta is the part of a list that tells whether it is complete.
type listMeta struct{ Continue string }

// subscriptions reads all Subscriptions of the namespace.
func (r *reader) subscriptions(ctx context.Context) ([]operators.Subscription, error) {
	all, complete, err := memberapi.ListSubscriptions(ctx, r.conn, r.namespace)
	if err != nil {
		return nil, r.refused("Subscriptions of namespace "+r.namespace, operators.GroupName, err)
	}
	if !complete {
		r.tooMany(operators.SubscriptionKind, memberapi.MaxSubscriptions)
	}
	return all, nil
}

// csvs reads all CSVs of the namespace.
func (r *reader) csvs(ctx context.Context) ([]upgrade.CSV, error) {
	var all []upgrade.CSV
	from := ""
	for range maxCSVPages {
		var list struct {
			Metadata listMeta
			Items    []upgrade.CSVContent
		}
		if err := r.page(ctx, memberapi.ClusterServiceVersions, operators.ClusterServiceVersionKind, csvPage, from, &list); err != nil {
			return nil, err
		}
		for i := range list.Items {
			all = append(all, list.Items[i].CSV())
		}
		if from = list.Metadata.Continue; from == "" {
			return all, nil
		}
	}
	r.tooMany(operators.ClusterServiceVersionKind, maxCSVs)
	return all, nil
}

// facts reads what a decision needs before a reinstall begins. csvs are those that it would remove.
func (r *reader) facts(ctx context.Context, spec *operators.SubscriptionSpec, csvs []upgrade.CSV) (*upgrade.Facts, error) {
	is := &upgrade.Facts{}
	for _, step := range []func(context.Context, *upgrade.Facts, *operators.SubscriptionSpec, []upgrade.CSV) error{r.groups, r.plans, r.source, r.pkg, r.crds} {
		if err := step(ctx, is, spec, csvs); err != nil {
			return nil, err
		}
	}
	is.Unread = r.unread
	return is, nil
}

func (r *reader) groups(ctx context.Context, is *upgrade.Facts, _ *operators.SubscriptionSpec, _ []upgrade.CSV) error {
	var list struct{ Items []struct{} }
	var more string // a second page means more than one as well
	err := r.list(ctx, groupsGVR, "OperatorGroup", 2, &list, &more)
	is.OperatorGroups = len(list.Items)
	return err
}

func (r *reader) plans(ctx context.Context, is *upgrade.Facts, _ *operators.SubscriptionSpec, _ []upgrade.CSV) error {
	var list struct { // operators.InstallPlan has no quantities
		Metadata listMeta
		Items    []operators.InstallPlan
	}
	err := r.list(ctx, memberapi.InstallPlans, operators.InstallPlanKind, maxPlans, &list, &list.Metadata.Continue)
	is.Plans = list.Items
	return err
}

func (r *reader) source(ctx context.Context, is *upgrade.Facts, spec *operators.SubscriptionSpec, _ []upgrade.CSV) error {
	var source struct {
		Status struct {
			ConnectionState struct{ LastObservedState string }
		}
	}
	_, _, err := r.get(ctx, member.Path(memberapi.CatalogSources, spec.CatalogSourceNamespace, spec.CatalogSource), operators.CatalogSourceKind, operators.GroupName,
		"CatalogSource "+spec.CatalogSourceNamespace+"/"+spec.CatalogSource, &source)
	is.Catalog.IsHealthy = source.Status.ConnectionState.LastObservedState == "READY"
	return err
}

// pkg reads the PackageManifest. OLM's package server serves it, if the member has one.
func (r *reader) pkg(ctx context.Context, is *upgrade.Facts, spec *operators.SubscriptionSpec, _ []upgrade.CSV) error {
	var manifest struct {
		Status struct {
			CatalogSource, CatalogSourceNamespace, DefaultChannel string
			Channels                                              []struct {
				Name, CurrentCSV string
				Entries          []struct{ Name string }
				CurrentCSVDesc   struct {
					CustomResourceDefinitions struct{ Owned []upgrade.OwnedCRD }
				}
			}
		}
	}
	found, served, err := r.get(ctx, member.Path(packagesGVR, r.namespace, spec.Package), "PackageManifest", packagesGVR.Group, "PackageManifest "+spec.Package, &manifest)
	is.Catalog.ServesPackages = served
	if err != nil || !found {
		return err
	}
	status := &manifest.Status
	p := &upgrade.Package{CatalogSource: status.CatalogSource, CatalogNamespace: status.CatalogSourceNamespace, DefaultChannel: status.DefaultChannel}
	for i := range status.Channels {
		c := &status.Channels[i]
		channel := upgrade.Channel{Name: c.Name, Head: c.CurrentCSV}
		for _, e := range c.Entries {
			channel.CSVs = append(channel.CSVs, e.Name)
		}
		for _, crd := range c.CurrentCSVDesc.CustomResourceDefinitions.Owned {
			channel.HeadAPIs = append(channel.HeadAPIs, crd.APIOf())
		}
		p.Channels = append(p.Channels, channel)
	}
	is.Catalog.Package = p
	return nil
}

// crds reads the CRDs that the CSVs own.
func (r *reader) crds(ctx context.Context, is *upgrade.Facts, _ *operators.SubscriptionSpec, csvs []upgrade.CSV) error {
	names := sets.New[string]()
	for i := range csvs {
		names.Insert(csvs[i].OwnedCRDs...)
	}
	if len(names) > maxCRDs {
		r.unread = fmt.Sprintf("the operator owns more than %d CRDs, and the manager does not read so many", maxCRDs)
		return nil
	}
	for _, name := range sets.List(names) {
		var crd struct {
			Spec struct {
				Group string
				Names struct{ Kind string }
			}
			Status struct{ StoredVersions []string }
		}
		found, _, err := r.get(ctx, memberapi.CRDPath(name), "CustomResourceDefinition", "apiextensions.k8s.io", "CRD "+name, &crd)
		if err != nil {
			return err
		}
		if found {
			is.CRDs = append(is.CRDs, upgrade.CRD{Name: name, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind, Stored: crd.Status.StoredVersions})
		}
	}
	return nil
}
