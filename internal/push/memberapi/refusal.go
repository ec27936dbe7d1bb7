// SPDX-License-Identifier: Apache-2.0

package memberapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// Answered reports whether an error is the API server's answer to this one request. Errors of the network, timeouts,
// overload and refused credentials concern the member as a whole: for them it returns false. A plain 500 counts as an
// answer: a broken webhook or conversion may cause it for one object, and the other objects must not wait for that one.
// If the whole member is broken, the probe detects that.
func Answered(err error) bool {
	if invalid := (*discovery.InvalidError)(nil); errors.As(err, &invalid) {
		return true
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || apierrors.IsUnauthorized(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code <= http.StatusInternalServerError && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
}

// AnsweredAbout reports whether an error concerns only the object, or only its API group, and not the member. That is
// so if Answered returns true, and also if the server of an aggregated API does not answer. Groups that are not built
// in may be served by such a server.
func AnsweredAbout(group string, err error) bool {
	return Answered(err) || IsAway(err) && !member.Scheme.IsGroupRegistered(group)
}

// IsAway reports whether the API server could not get an answer from a server behind it, for example that of an
// aggregated API.
func IsAway(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code == http.StatusBadGateway || code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout
}

// ConcernsMember reports whether an error concerns the member as a whole: a network error, a timeout, an overload (429,
// 502 to 504) or refused credentials (401). The caller then stops all passes on the member. It returns false for a
// *member.HeldBackError: the manager itself held the write back, for example because it had no valid lease.
func ConcernsMember(err error) bool {
	if held := (*member.HeldBackError)(nil); errors.As(err, &held) {
		return false
	}
	return err != nil && !errors.Is(err, context.Canceled) && !Answered(err)
}

// unknownField matches the message of an API server that refuses a strict write because its schema lacks a field.
var unknownField = regexp.MustCompile(`strict decoding error:.*unknown field "([^"]{1,200})"`)

// MissingField returns the name of the field that the member's CRD lacks, if the API server refused a strict write
// because of that; "" for every other error.
func MissingField(err error) string {
	if !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
		return ""
	}
	if found := unknownField.FindStringSubmatch(err.Error()); found != nil {
		return plan.Quote(found[1])
	}
	return ""
}

// Explain turns the API server's refusal of a write into trouble. verb is what the manager was doing, for example
// "applying". object is the object's name, as the function Ref returns it.
func Explain(verb, object string, err error) Trouble {
	return ExplainWithout("get, list, watch, create, patch, delete", verb, object, err)
}

// ExplainWithout does the same as the function Explain, for a request that needs fewer rights. If RBAC refused the
// request, the message tells a person to grant the verbs that the parameter rights lists, for example "get, list".
func ExplainWithout(rights, verb, object string, err error) Trouble {
	// The rules read the text as the member sent it, because redaction may change what they look for. Messages quote the redacted text.
	words := err.Error()
	quoted := plan.Quote(words)
	switch {
	case isOwnPolicy(words):
		_, why, _ := strings.Cut(words, "denied request: ")
		return Stalled(v1alpha1.ReasonNamespaceNotOpen, "%s: the member's policy for Fairlead refuses the write: %s", object, plan.Quote(why))
	case IsPolicy(words):
		return Stalled(v1alpha1.ReasonRefused, "%s %s: %s", verb, object, quoted)
	case isForm(words) && isOfSecret(object):
		return Stalled(v1alpha1.ReasonInvalid, "%s %s: %s", verb, object, plan.Quote(withoutValue(words)))
	case isForm(words):
		return Stalled(v1alpha1.ReasonInvalid, "%s %s: %s", verb, object, plan.Quote(withoutGo(words)))
	case apierrors.IsForbidden(err) && strings.Contains(words, "because it is being terminated"):
		return Waiting(plan.RetrySoon, v1alpha1.ReasonNamespaceTerminating, "%s: the namespace is being deleted", object)
	case apierrors.IsForbidden(err) && strings.Contains(words, "exceeded quota"):
		return Stalled(v1alpha1.ReasonRefused, "%s %s: %s", verb, object, quoted)
	case apierrors.IsForbidden(err) && IsRBAC(words):
		t := Stalled(v1alpha1.ReasonNotGranted, "%s", notGranted(object, rights, err))
		t.Retry = plan.RetrySoon // a starting API server refuses every request until it has read its roles
		return t
	case apierrors.IsInvalid(err):
		if field := immutableField(err); field != "" {
			return Stalled(v1alpha1.ReasonImmutableField,
				"%s cannot change %s: that field is immutable; undo the change, use another name, or annotate the object %s: \"true\" to "+
					"have the manager delete and recreate it",
				object, plan.Quote(field), v1alpha1.AnnotationReplace)
		}
		if fields := nullFields(err); len(fields) > 0 {
			quoted = fmt.Sprintf("null in %s: take it out of the wrapper (`kubectl create` drops nulls, server-side apply does not; "+
				"`hostctl federate` leaves them out); %s", plan.Quote(messages.Few(fields, maxNullFields)), quoted)
		}
		return Stalled(v1alpha1.ReasonInvalid, "%s %s: %s", verb, object, quoted)
	case apierrors.IsConflict(err), apierrors.IsInternalError(err), IsAway(err):
		return Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError,
			Message: fmt.Sprintf("%s %s: %s", verb, object, quoted), Retry: plan.RetrySoon}
	default:
		return Stalled(v1alpha1.ReasonRefused, "%s %s: %s", verb, object, quoted)
	}
}

// notGranted returns the message about a permission that the host lacks. The message has the rule that a ClusterRole on
// the member must have, and the label that this ClusterRole must have. If the rule is not known, the message has the API
// server's own text instead: a status line has no room for both.
func notGranted(object, rights string, err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil || strings.Contains(err.Error(), "attempting to grant") {
		return fmt.Sprintf("%s: the host's account on the member lacks a permission: %s", object, plan.Quote(err.Error()))
	}
	group, resource := status.Status().Details.Group, status.Status().Details.Kind // in a refusal, Kind holds the resource
	if group == "" {
		group = `""`
	}
	return fmt.Sprintf("%s: not granted; the member needs a ClusterRole with {apiGroups: [%s], resources: [%s], "+
		"verbs: [%s]} and label %s: \"true\"", object, plan.Quote(group), plan.Quote(resource), rights, v1alpha1.LabelAggregateToHost)
}

// isOwnPolicy reports whether a request was refused by the ValidatingAdmissionPolicy that `hostctl join` installs on a
// member. That policy restricts the host to open namespaces.
func isOwnPolicy(words string) bool {
	return strings.Contains(words, "ValidatingAdmissionPolicy '"+v1alpha1.AdmissionPolicy+"' with binding '"+v1alpha1.AdmissionPolicy+"' denied request: ")
}

// IsPolicy reports whether a policy or a webhook on the member refused a request. Explain calls it before it reads the
// status code, because the author of a policy chooses code, reason and message, and may choose those of another error.
func IsPolicy(words string) bool {
	return strings.Contains(words, "ValidatingAdmissionPolicy '") && strings.Contains(words, "denied request") ||
		strings.Contains(words, "admission webhook \"") && strings.Contains(words, "denied the request")
}

// isForm reports whether the API server refused an apply because a value has the wrong type, or the schema lacks a
// field. The API server answers with a plain 500. Unlike after other 500s, another try would get the same answer.
func isForm(words string) bool {
	return strings.Contains(words, "failed to create typed patch object")
}

// goValue matches the Go syntax in which the API server prints a value of a wrong type.
var goValue = regexp.MustCompile(`&value\.valueUnstructured\{Value:(.*)\}`)

// withoutGo removes the Go syntax around a value from the API server's message.
func withoutGo(words string) string { return goValue.ReplaceAllString(words, "$1") }

// isOfSecret reports whether an object, named as Ref does, is a Secret. A message about a Secret must not quote values.
func isOfSecret(object string) bool { return strings.HasPrefix(object, "Secret ") }

// withoutValue replaces the quoted value in the API server's message.
func withoutValue(words string) string {
	return goValue.ReplaceAllString(words, "a value that this message leaves out, because it is part of a Secret")
}

// IsRBAC reports whether RBAC refused a request. It reads the message, because RBAC and admission plugins both answer
// 403.
func IsRBAC(words string) bool {
	return strings.Contains(words, " cannot ") && strings.Contains(words, "in API group") ||
		strings.Contains(words, "attempting to grant RBAC permissions not currently held")
}

// maxNullFields is the largest number of null fields that a message names.
const maxNullFields = 3

// nullFields returns the fields that a 422 reports as null although the schema does not allow null there.
func nullFields(err error) []string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if strings.Contains(cause.Message, " must be of type ") && strings.HasSuffix(cause.Message, `: "null"`) {
			fields = append(fields, cause.Field)
		}
	}
	slices.Sort(fields)
	return fields
}

// immutableField returns the field that a 422 reports as immutable; "" when the 422 has another cause.
func immutableField(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	for _, cause := range status.Status().Details.Causes {
		words := strings.ToLower(cause.Message)
		forbidden := cause.Type == metav1.CauseType("FieldValueForbidden") &&
			(strings.Contains(words, "updates to") || strings.Contains(words, "may not be changed"))
		if strings.Contains(words, "immutable") || strings.Contains(words, "cannot change") || forbidden {
			if cause.Field == "" {
				return "a field"
			}
			return cause.Field
		}
	}
	return ""
}
