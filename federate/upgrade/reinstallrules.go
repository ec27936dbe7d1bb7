// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

const (
	// maxRemovedCSVs is the greatest number of CSVs that a reinstall removes. OLM keeps a CSV and those that it replaces until it
	// has succeeded, so more than a few are a sign of something else.
	maxRemovedCSVs = 8
	// planDeadline is the age from which a message says how to end an InstallPlan that OLM executes.
	planDeadline = 10 * time.Minute
)

// Facts are what the manager has read on a member beyond the Subscriptions and CSVs of the namespace. A field that the manager
// could not read has the reason in Unread.
type Facts struct {
	// Unread is why the manager could not read something, in words; "" if it has read everything.
	Unread string
	// OperatorGroups is the number of OperatorGroups of the namespace; 2 stands for more than one.
	OperatorGroups int
	// Plans are the InstallPlans of the namespace.
	Plans []operators.InstallPlan
	// Catalog is what the Subscription's CatalogSource and the package server say.
	Catalog Catalog
	// CRDs are the CustomResourceDefinitions that the CSVs to remove own, as far as they exist.
	CRDs []CRD
}

// Catalog is what the manager has read of the catalog of a Subscription.
type Catalog struct {
	// IsHealthy is true if OLM is connected to the CatalogSource.
	IsHealthy bool
	// ServesPackages is false if the member does not serve PackageManifests at all. Then nothing tells whether the catalog has
	// the target.
	ServesPackages bool
	// Package is the PackageManifest of the Subscription's package; nil if the catalog does not have the package.
	Package *Package
}

// Package is a package of a catalog.
type Package struct {
	// CatalogSource and CatalogNamespace identify the catalog of the package.
	CatalogSource, CatalogNamespace string
	DefaultChannel                  string
	Channels                        []Channel
}

// Channel is one channel of a package.
type Channel struct {
	Name string
	// Head is the latest CSV of the channel, and HeadAPIs are the APIs of the CRDs that it owns, as apiOf writes them.
	Head     string
	HeadAPIs []string
	// CSVs are the CSVs of the channel.
	CSVs []string
}

// CRD is a CustomResourceDefinition.
type CRD struct {
	Name, Group, Kind string
	// Stored are the versions in which objects may be stored.
	Stored []string
}

// removal returns what a reinstall would remove. problem is why it is not certain which CSVs belong to the operator; "" if it
// is certain.
func (o *Operator) removal(sub *operators.Subscription) (r Removal, problem string) {
	r.Subscription = Object{Name: sub.Name, UID: sub.UID}
	installed := sub.Status.InstalledCSV
	// The operator is the installed CSV, the CSVs that it replaces, and every other CSV of the package.
	names := sets.New[string]()
	for next := o.csv(installed); next != nil && !names.Has(next.Name) && len(names) <= maxRemovedCSVs; next = o.csv(next.Replaces) {
		names.Insert(next.Name)
	}
	for i := range o.CSVs {
		if _, same := Order(o.CSVs[i].Name, installed); same {
			names.Insert(o.CSVs[i].Name)
		}
	}
	if len(names) > maxRemovedCSVs {
		return r, fmt.Sprintf("the namespace has more than %d ClusterServiceVersions of this operator; delete those that are not in use", maxRemovedCSVs)
	}
	for _, name := range sets.List(names) {
		csv := o.csv(name)
		order, known := Order(name, installed)
		others := o.namedByOthers(name)
		switch {
		case csv.IsCopy:
			return r, name + " is a copy of a ClusterServiceVersion of another namespace; use a namespace that the other operator does not watch"
		case !known || order > 0:
			return r, "the name of ClusterServiceVersion " + name + " does not show an earlier version than " + installed + "; remove the operator on the member as its documentation says"
		case len(others) > 0:
			return r, "Subscription " + messages.Few(others, maxNamed) + " names " + name + ", too; delete the Subscription that is too many on the member"
		case csv.IsDeleted:
			return r, "another client is deleting " + name + heldBy(csv.Finalizers)
		case csv.CleansUp:
			return r, name + " has spec.cleanup.enabled, so OLM would delete the custom resources with it; set it to false on the member"
		}
		r.CSVs = append(r.CSVs, csv.Object)
	}
	slices.SortStableFunc(r.CSVs, func(a, b Object) int {
		order, _ := Order(a.Name, b.Name)
		return order
	})
	return r, ""
}

// namedByOthers returns the other Subscriptions of the namespace whose status names a CSV.
func (o *Operator) namedByOthers(csv string) (names []string) {
	for i := range o.Subscriptions {
		if s := &o.Subscriptions[i]; s.Name != o.Name && (s.Status.InstalledCSV == csv || s.Status.CurrentCSV == csv) {
			names = append(names, s.Name)
		}
	}
	return names
}

// reinstallRule returns why a reinstall must not begin, with the way out; "" if the rule does not object.
type reinstallRule func(o *Operator, sub *operators.Subscription, r *Removal, now time.Time) string

// reinstallRules are in the order in which a person should see their messages.
var reinstallRules = []reinstallRule{
	keepsReadable, keepsForeign, keepsOtherStart, keepsShared, keepsBundled, keepsUnresolved, keepsOffered, keepsRequired, keepsWithoutGroup,
	keepsRepeated, keepsDuringPlan, keepsUnhealthyCatalog, keepsMissingTarget, keepsStored, keepsUncollected,
}

func (o *Operator) keeps(sub *operators.Subscription, r *Removal, now time.Time) string {
	for _, rule := range reinstallRules {
		if problem := rule(o, sub, r, now); problem != "" {
			return problem
		}
	}
	return ""
}

// keepsReadable objects if the manager could not read what the other rules need.
func keepsReadable(o *Operator, _ *operators.Subscription, _ *Removal, _ time.Time) string {
	if o.Facts == nil {
		return "the manager has not read the catalog and the CRDs of the member"
	}
	return o.Facts.Unread
}

// keepsForeign objects if the Subscription is not exactly the one that the manager has created and would create again.
func keepsForeign(o *Operator, sub *operators.Subscription, _ *Removal, _ time.Time) string {
	switch {
	case sub.Labels[v1alpha1.LabelUID] != string(o.Wrapper) || TargetOf(sub) != o.Target ||
		!marks.IsPushed(sub, marks.ObjectPath("subscriptions", operators.GroupName, sub.Namespace, sub.Name)):
		return "another client has changed or replaced Subscription " + sub.Name + "; the manager repairs it first"
	case sub.DeletionTimestamp != nil:
		return "another client is deleting Subscription " + sub.Name + heldBy(sub.Finalizers)
	case o.IsAdopted || sub.Annotations[v1alpha1.AnnotationAdopted] != "":
		return "Subscription " + sub.Name + " was adopted, and the manager deletes no adopted object; remove the operator on the member as its documentation says"
	case sub.Annotations[v1alpha1.AnnotationKeep] == "true":
		return "Subscription " + sub.Name + " has the annotation " + v1alpha1.AnnotationKeep + "; take it out of the wrapper"
	case len(sub.Finalizers) > 0:
		return "Subscription " + sub.Name + " has finalizers, so its deletion may not end: " + strings.Join(sub.Finalizers, ", ")
	}
	return ""
}

// keepsOtherStart objects if OLM would not install exactly the target, or would upgrade beyond it. It reads the Subscription that the
// manager would create. The one on the member has to be the same: otherwise it is not certain what OLM has installed.
func keepsOtherStart(o *Operator, sub *operators.Subscription, _ *Removal, _ time.Time) string {
	switch {
	case o.Desired == nil || o.Desired.InstallPlanApproval != operators.ApprovalManual:
		return "Subscription " + sub.Name + " of the wrapper is not Manual, so OLM would upgrade beyond the target again"
	case o.Desired.StartingCSV != o.Target:
		return fmt.Sprintf("startingCSV of Subscription %s is %q and not the target; leave startingCSV out of the wrapper", sub.Name, o.Desired.StartingCSV)
	}
	if fields := changedFields(sub.Spec, o.Desired); len(fields) > 0 {
		return "another client has changed " + strings.Join(fields, ", ") + " of Subscription " + sub.Name + "; the manager repairs it first"
	}
	return ""
}

// changedFields returns the names of the fields that decide what OLM installs, and that differ.
func changedFields(is, desired *operators.SubscriptionSpec) (fields []string) {
	if is == nil {
		is = &operators.SubscriptionSpec{}
	}
	for _, f := range []struct{ name, is, desired string }{
		{"name", is.Package, desired.Package}, {"channel", is.Channel, desired.Channel}, {"source", is.CatalogSource, desired.CatalogSource},
		{"sourceNamespace", is.CatalogSourceNamespace, desired.CatalogSourceNamespace}, {"startingCSV", is.StartingCSV, desired.StartingCSV},
		{"installPlanApproval", string(is.InstallPlanApproval), string(desired.InstallPlanApproval)},
	} {
		if f.is != f.desired {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// keepsOffered objects if OLM itself offers the target as the next version. Then the names mislead, and the target is later.
func keepsOffered(o *Operator, sub *operators.Subscription, _ *Removal, _ time.Time) string {
	if sub.Status.CurrentCSV == o.Target {
		return "OLM offers " + o.Target + " as the next version, so it is a later one in spite of its name; approve its InstallPlan on the member"
	}
	if current := sub.Status.CurrentCSV; current != sub.Status.InstalledCSV && o.csv(current) != nil {
		return "OLM is installing " + current + "; wait until it has ended"
	}
	return ""
}

// keepsWithoutGroup objects if OLM would install nothing in the namespace.
func keepsWithoutGroup(o *Operator, _ *operators.Subscription, _ *Removal, _ time.Time) string {
	if o.Facts.OperatorGroups != 1 {
		return "the namespace does not have exactly one OperatorGroup, so OLM would install nothing"
	}
	return ""
}

// keepsRepeated objects to a second reinstall within an hour: then something on the member takes the operator beyond its target,
// or the first one could not finish.
func keepsRepeated(o *Operator, _ *operators.Subscription, _ *Removal, now time.Time) string {
	if o.Begun == nil || !o.Begun.holdsBack(now) {
		return ""
	}
	return "a reinstall of it began at " + o.Begun.At.UTC().Format(time.RFC3339) + " already, and it is beyond its target again; find what takes it there, and wait for an hour"
}

// keepsDuringPlan objects while OLM executes an InstallPlan: OLM could create a CSV that the manager has just removed.
func keepsDuringPlan(o *Operator, _ *operators.Subscription, _ *Removal, now time.Time) string {
	for i := range o.Facts.Plans {
		plan := &o.Facts.Plans[i]
		if !plan.Spec.Approved || plan.Status.Phase == operators.InstallPlanPhaseComplete || plan.Status.Phase == operators.InstallPlanPhaseFailed {
			continue
		}
		since := plan.CreationTimestamp.Time
		if plan.Status.StartTime != nil {
			since = plan.Status.StartTime.Time
		}
		if now.Sub(since) >= planDeadline {
			return "OLM has been executing InstallPlan " + plan.Name + " for more than " + planDeadline.String() + "; delete that InstallPlan on the member to end it"
		}
		return "OLM is executing InstallPlan " + plan.Name + "; the manager waits until that has ended"
	}
	return ""
}

// keepsUnhealthyCatalog objects if OLM could not install the target now.
func keepsUnhealthyCatalog(o *Operator, sub *operators.Subscription, _ *Removal, _ time.Time) string {
	if !o.Facts.Catalog.IsHealthy {
		return "CatalogSource " + o.Desired.CatalogSourceNamespace + "/" + o.Desired.CatalogSource + " is missing or not READY, so OLM could not install " + o.Target
	}
	for i := range sub.Status.Conditions {
		if c := &sub.Status.Conditions[i]; c.Type == operators.SubscriptionCatalogSourcesUnhealthy && c.Status == "True" {
			return "OLM reports CatalogSourcesUnhealthy: " + c.Message
		}
	}
	return ""
}

// keepsMissingTarget objects if the catalog does not have the target in the Subscription's channel.
func keepsMissingTarget(o *Operator, _ *operators.Subscription, _ *Removal, _ time.Time) string {
	catalog := &o.Facts.Catalog
	if !catalog.ServesPackages {
		return "" // nothing on the member can be asked
	}
	lacks := fmt.Sprintf("channel %s of package %s in catalog %s/%s lacks %s", o.Desired.Channel, o.Desired.Package, o.Desired.CatalogSourceNamespace, o.Desired.CatalogSource, o.Target)
	p := catalog.Package
	switch {
	case p == nil:
		return "the package server has no package " + o.Desired.Package
	case p.CatalogSource != o.Desired.CatalogSource || p.CatalogNamespace != o.Desired.CatalogSourceNamespace:
		return "the package server shows package " + o.Desired.Package + " of another catalog, so it is not known whether " + lacks
	}
	for i := range p.Channels {
		c := &p.Channels[i]
		if c.Name == o.Desired.Channel || o.Desired.Channel == "" && c.Name == p.DefaultChannel {
			if c.Head == o.Target || slices.Contains(c.CSVs, o.Target) {
				return ""
			}
		}
	}
	return lacks
}

// keepsStored objects if OLM would refuse to replace a CRD by that of the target. OLM refuses that if objects may be stored in a
// version that the target's CRD lacks, and it does not try the failed InstallPlan again.
func keepsStored(o *Operator, _ *operators.Subscription, r *Removal, _ time.Time) string {
	if len(r.CSVs) == 0 || len(o.Facts.CRDs) == 0 {
		return "" // no CSV tells which CRDs are the operator's, and no operator runs
	}
	apis, known := o.targetAPIs()
	if !known {
		return "nothing on the member tells which versions of its CRDs " + o.Target + " has; remove the operator on the member as its documentation says"
	}
	for i := range o.Facts.CRDs {
		crd := &o.Facts.CRDs[i]
		if !slices.ContainsFunc(apis, func(api string) bool { return withoutVersion(api) == withoutVersion(apiOf(crd.Group, "", crd.Kind)) }) {
			continue // the target does not bring this CRD, so OLM does not replace it
		}
		for _, version := range crd.Stored {
			if !slices.Contains(apis, apiOf(crd.Group, version, crd.Kind)) {
				return "CRD " + crd.Name + " may have objects stored in version " + version + ", which " + o.Target + " lacks; OLM would not install it"
			}
		}
	}
	return ""
}

// targetAPIs returns the APIs of the target. known is false if nothing on the member tells them. The target's own CSV does, and so
// do an InstallPlan with it, and the package server if the target is the head of a channel.
func (o *Operator) targetAPIs() (apis []string, known bool) {
	if csv := o.csv(o.Target); csv != nil {
		return csv.Owned, true
	}
	for i := range o.Facts.Plans {
		b := bundlesOf(&o.Facts.Plans[i])[o.Target]
		if b == nil {
			continue
		}
		// A bundle of which the plan has only the package says nothing about CRDs.
		if apis = slices.DeleteFunc(sets.List(b.provides), func(what string) bool { return !isAPI(what) }); len(apis) > 0 {
			return apis, true
		}
	}
	if p := o.Facts.Catalog.Package; p != nil {
		for i := range p.Channels {
			if p.Channels[i].Head == o.Target && len(p.Channels[i].HeadAPIs) > 0 {
				return p.Channels[i].HeadAPIs, true
			}
		}
	}
	return nil, false
}

// keepsUncollected objects if the member's collector is not ready. The manager would learn too little of what follows.
func keepsUncollected(o *Operator, _ *operators.Subscription, _ *Removal, _ time.Time) string {
	if !o.IsCollected {
		return "the collector of the member is not ready, so nothing would report how it went"
	}
	return ""
}
