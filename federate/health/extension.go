// SPDX-License-Identifier: Apache-2.0

package health

import (
	"time"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// The condition types of a ClusterExtension that the rules use, and two reasons of its condition Progressing. They are defined
// in api/v1 of github.com/operator-framework/operator-controller, the controller of OLM v1. Some versions of the controller do
// not watch the objects that they install. These versions do not set the condition Available.
const (
	extensionInstalled   = "Installed"
	extensionProgressing = "Progressing"
	extensionAvailable   = "Available"
	extensionDeprecated  = "Deprecated"

	extensionSucceeded = "Succeeded"
	extensionRetrying  = "Retrying"
)

// extension is the part of a ClusterExtension that the rules use.
type extension struct {
	// generation is metadata.generation.
	generation int64
	// wanted is the version, or the range of versions, that the spec asks for; "" for any version.
	wanted string
	// version is the version of the installed bundle; "" if OLM reports none.
	// bundle is the name of the installed bundle; "" if OLM reports none.
	version, bundle                   string
	installed, progressing, available condition
	deprecated                        condition
	// since is the time at which the spec or the status last changed.
	since time.Time
}

func extensionOf(obj *unstructured.Unstructured) *extension {
	e := &extension{
		generation:  obj.GetGeneration(),
		wanted:      text(obj.Object, "spec", "source", "catalog", "version"),
		version:     text(obj.Object, "status", "install", "bundle", "version"),
		bundle:      text(obj.Object, "status", "install", "bundle", "name"),
		installed:   conditionOf(obj, extensionInstalled),
		progressing: conditionOf(obj, extensionProgressing),
		available:   conditionOf(obj, extensionAvailable),
		deprecated:  conditionOf(obj, extensionDeprecated),
		since:       changedAt(obj),
	}
	// The condition Progressing is True while OLM rolls out, while it retries, and after it has succeeded. So its lastTransitionTime
	// does not show when OLM went from one of these to the next; only managedFields show it. If managedFields lack the status, the
	// debounce of an upgrade begins at the apply.
	for _, changed := range []time.Time{statusChangedAt(obj), e.installed.since, e.progressing.since, e.available.since} {
		if changed.After(e.since) {
			e.since = changed
		}
	}
	return e
}

// judgeClusterExtension judges a ClusterExtension by the conditions of OLM v1, and by the installed version. The conditions
// Installed and Progressing do not suffice. After a change of the spec, OLM may first report the earlier bundle's success for the
// new generation, and only then begin to roll out the next bundle. A wave would then pass with the earlier version.
func judgeClusterExtension(obj *unstructured.Unstructured, now time.Time) Verdict {
	e := extensionOf(obj)
	v := e.judge(now.Sub(e.since))
	if v.Version = e.version; v.Version == "" {
		v.Version = e.bundle
	}
	return v
}

// judge returns the verdict on an extension. The parameter lasted is the time since the last change of its spec or its
// status.
func (e *extension) judge(lasted time.Duration) Verdict {
	p := e.progressing
	switch {
	case p.kind == "" && e.installed.kind == "":
		return progressing(v1alpha1.ReasonStatusMissing, "no controller has set a status yet; operator-controller, which is OLM v1, has to run on this member")
	case p.observed < e.generation:
		return progressing(v1alpha1.ReasonSettling, "OLM has not observed the present spec yet")
	case p.isFalse() && p.reason != extensionSucceeded:
		return e.blocked(lasted)
	case p.reason == extensionRetrying:
		return failing(p.reason, p.words(), lasted)
	case p.reason != extensionSucceeded:
		return underWay(p.reason, p.words(), lasted)
	case !e.installed.isTrue() || e.installed.observed < e.generation:
		return underWay(v1alpha1.ReasonInstalling, withDetail("OLM has not installed a bundle yet", e.installed.message), lasted)
	case !e.isWanted():
		return underWay(v1alpha1.ReasonInstalling, e.isBehind(), lasted)
	case e.available.isFalse() && e.available.observed >= e.generation:
		return failing(e.available.reason, e.available.words(), lasted)
	case lasted < targetDebounce:
		v := progressing(v1alpha1.ReasonInstalling, "OLM has succeeded; that counts after "+targetDebounce.String())
		v.Recheck = min(targetDebounce-lasted, targetDebounce)
		return v
	}
	if e.deprecated.isTrue() {
		return Verdict{Health: v1alpha1.Healthy, Reason: v1alpha1.ReasonDeprecated, Message: e.deprecated.words()}
	}
	return healthy()
}

// blocked returns the verdict on an extension that OLM does not try again. OLM has several reasons for that. The verdict
// always has the reason Blocked, because IsBlocked recognizes only this reason of a ClusterExtension.
func (e *extension) blocked(lasted time.Duration) Verdict {
	words := e.progressing.words()
	if e.progressing.reason != v1alpha1.ReasonBlocked {
		words = e.progressing.reason + ": " + words
	}
	return failing(v1alpha1.ReasonBlocked, words, lasted)
}

// isWanted reports whether the installed version satisfies the version or range in the spec. It uses the library with which OLM
// itself resolves, so it has OLM's syntax of ranges, and OLM's rule that a range without a prerelease contains no prerelease.
//
// isWanted returns true if the library cannot parse the range or the installed version: the CRD and OLM on the member may accept
// more than this version of the library. The verdict then depends on OLM's conditions alone.
func (e *extension) isWanted() bool {
	if e.wanted == "" {
		return true
	}
	wanted, err := semver.NewConstraint(e.wanted)
	if err != nil {
		return true
	}
	if e.version == "" {
		return false
	}
	version, err := semver.NewVersion(e.version)
	return err != nil || wanted.Check(version)
}

// isBehind returns the message for an extension whose installed version does not satisfy its spec.
func (e *extension) isBehind() string {
	if e.version == "" {
		return "OLM reports no installed version; the spec asks for " + e.wanted
	}
	return e.version + " is installed; OLM has not installed a version that satisfies " + e.wanted + " yet"
}
