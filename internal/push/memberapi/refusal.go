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

// Answered reports whether an error is the API server's answer to this one request. All other errors (network,
// timeouts, overload, credentials) concern the member as a whole, and end the pass. A plain 500 is such an answer: a
// broken webhook or conversion causes it for one object, and it must not delay the other objects. If the whole member
// is in trouble, the probe finds that out.
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

// AnsweredAbout is Answered for a request about an object of one API group. Other servers may serve groups that are
// not built into the API server. If such a server does not answer, only its group is in trouble, not the member.
func AnsweredAbout(group string, err error) bool {
	return Answered(err) || IsAway(err) && !member.Scheme.IsGroupRegistered(group)
}

// IsAway reports whether a server behind the API server does not answer, for example the server of an aggregated API.
func IsAway(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code == http.StatusBadGateway || code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout
}

// ConcernsMember reports whether an error concerns the member as a whole: a network error, a timeout, an overload (429,
// 502 to 504) or refused credentials (401). The caller then opens the circuit breaker.
func ConcernsMember(err error) bool {
	if held := (*member.HeldBackError)(nil); errors.As(err, &held) {
		return false
	}
	return err != nil && !errors.Is(err, context.Canceled) && !Answered(err)
}

// unknownField matches an API server's refusal of a strict write whose field the schema lacks.
var unknownField = regexp.MustCompile(`strict decoding error:.*unknown field "([^"]{1,200})"`)

// MissingField is the field that the member's CRD lacks, if the API server refused a strict write for that; "" for every other
// error.
func MissingField(err error) string {
	if !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
		return ""
	}
	if found := unknownField.FindStringSubmatch(err.Error()); found != nil {
		return found[1]
	}
	return ""
}

// Explain turns the API server's refusal of a write into trouble.
func Explain(verb, object string, err error) Trouble {
	return ExplainWithout("get, list, watch, create, patch, delete", verb, object, err)
}

// ExplainWithout is Explain for a request that needs only the given rights.
func ExplainWithout(rights, verb, object string, err error) Trouble {
	words := err.Error()
	switch {
	case isOwnPolicy(words):
		_, why, _ := strings.Cut(words, "denied request: ")
		return Stalled(v1alpha1.ReasonNamespaceNotOpen, "%s: the member refuses it: %s", object, why)
	case isPolicy(words):
		return Stalled(v1alpha1.ReasonRefused, "%s %s: %s", verb, object, words)
	case isForm(words) && isOfSecret(object):
		return Stalled(v1alpha1.ReasonInvalid, "%s %s: %s", verb, object, withoutValue(words))
	case isForm(words):
		return Stalled(v1alpha1.ReasonInvalid, "%s %s: %s", verb, object, withoutGo(words))
	case apierrors.IsForbidden(err) && strings.Contains(words, "because it is being terminated"):
		return Waiting(plan.RetrySoon, v1alpha1.ReasonNamespaceTerminating, "%s: the namespace is being deleted", object)
	case apierrors.IsForbidden(err) && strings.Contains(words, "exceeded quota"):
		return Stalled(v1alpha1.ReasonRefused, "%s %s: %s", verb, object, words)
	case apierrors.IsForbidden(err) && IsRBAC(words):
		t := Stalled(v1alpha1.ReasonNotGranted, "%s", notGranted(object, rights, err))
		t.Retry = plan.RetrySoon // an API server that has just come up refuses everything until it has read its roles
		return t
	case apierrors.IsInvalid(err):
		if field := immutableField(err); field != "" {
			return Stalled(v1alpha1.ReasonImmutableField,
				"%s cannot change %s: that field is immutable; take the change back, use another name, or annotate the object %s: \"true\" to "+
					"have it deleted and made again",
				object, field, v1alpha1.AnnotationReplace)
		}
		if fields := nullFields(err); len(fields) > 0 {
			words = fmt.Sprintf("null in %s: take it out of the wrapper (`kubectl create` drops nulls, server-side apply does not; "+
				"`hostctl federate` leaves them out); %s", messages.Few(fields, maxNullFields), words)
		}
		return Stalled(v1alpha1.ReasonInvalid, "%s %s: %s", verb, object, words)
	case apierrors.IsConflict(err), apierrors.IsInternalError(err), IsAway(err):
		return Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError,
			Message: fmt.Sprintf("%s %s: %s", verb, object, words), Retry: plan.RetrySoon}
	default:
		return Stalled(v1alpha1.ReasonRefused, "%s %s: %s", verb, object, words)
	}
}

// notGranted names the missing rule, and the place to add it. If it knows the rule, it leaves out the API server's own
// message: that names the account and the verb at length, and a status line would have no room for the remedy.
func notGranted(object, rights string, err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil || strings.Contains(err.Error(), "attempting to grant") {
		return fmt.Sprintf("%s: the host has no permission: %s", object, err)
	}
	group, resource := status.Status().Details.Group, status.Status().Details.Kind // of a refusal it is the resource
	if group == "" {
		group = `""`
	}
	return fmt.Sprintf("%s: not granted; add a ClusterRole there with {apiGroups: [%s], resources: [%s], "+
		"verbs: [%s]} and label %s: \"true\"", object, group, resource, rights, v1alpha1.LabelAggregateToHost)
}

// isOwnPolicy recognises a refusal by the policy that join installs on a member: it restricts the host to open
// namespaces.
func isOwnPolicy(words string) bool {
	return strings.Contains(words, "ValidatingAdmissionPolicy '"+v1alpha1.AdmissionPolicy+"' with binding '"+v1alpha1.AdmissionPolicy+"' denied request: ")
}

// isPolicy recognises a refusal by a policy or a webhook on the member. Its author chose its code, its reason and its
// message. They may equal those that the API server uses for other errors.
func isPolicy(words string) bool {
	return strings.Contains(words, "ValidatingAdmissionPolicy '") && strings.Contains(words, "denied request") ||
		strings.Contains(words, "admission webhook \"") && strings.Contains(words, "denied the request")
}

// isForm recognises the API server's message about a value of another form than the schema has, or about a field that
// the schema lacks. It is a plain 500, and another try cannot help.
func isForm(words string) bool {
	return strings.Contains(words, "failed to create typed patch object")
}

// goValue is how the API server prints a value of a wrong form.
var goValue = regexp.MustCompile(`&value\.valueUnstructured\{Value:(.*)\}`)

// withoutGo removes the names of Go types from an API server's message.
func withoutGo(words string) string { return goValue.ReplaceAllString(words, "$1") }

// isOfSecret reports whether a message about an object may hold values of a Secret.
func isOfSecret(object string) bool { return strings.HasPrefix(object, "Secret ") }

// withoutValue removes the value from an API server's message.
func withoutValue(words string) string {
	return goValue.ReplaceAllString(words, "a value that is withheld (it is a Secret's)")
}

// IsRBAC reports whether RBAC refused a request, and not an admission plugin. Both answer with 403.
func IsRBAC(words string) bool {
	return strings.Contains(words, " cannot ") && strings.Contains(words, "in API group") ||
		strings.Contains(words, "attempting to grant RBAC permissions not currently held")
}

// maxNullFields is how many null fields a message names before the remedy.
const maxNullFields = 3

// nullFields are the fields that a 422 reports as null where null is not allowed.
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

// immutableField is the field that a 422 reports as immutable, "" when it reports something else.
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
