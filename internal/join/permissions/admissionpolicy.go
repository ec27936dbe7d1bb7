// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
)

// HostUser is the user name of the host's service account at a member's API server.
const HostUser = "system:serviceaccount:" + v1alpha1.SystemNamespace + ":" + HostAccount

// policyQuestion is the name of a test Delivery. A join creates it as a dry run, to learn which policy the API server
// enforces. The policy refuses this Delivery with a message that contains the policy's digest.
const policyQuestion = "admission-policy"

// policyVariables are the CEL variables of the policy's rules. The variable home is the namespace of the request's
// object; "" for a cluster-scoped object. For a Namespace, home is the Namespace's own name: in a request for a
// Namespace, request.namespace can be that name or empty, so the variable does not use it.
var policyVariables = []admissionregistrationv1.Variable{
	{Name: "group", Expression: "request.resource.group"},
	{Name: "resource", Expression: "request.resource.resource"},
	{Name: "subresource", Expression: "has(request.subResource) ? request.subResource : ''"},
	{Name: "name", Expression: "has(request.name) && request.name != '' ? request.name : " +
		"object != null && has(object.metadata) && has(object.metadata.name) ? object.metadata.name : ''"},
	{Name: "isNamespace", Expression: "variables.group == '' && variables.resource == 'namespaces'"},
	{Name: "home", Expression: "variables.isNamespace ? variables.name : has(request.namespace) ? request.namespace : ''"},
	{Name: "labels", Expression: "object != null && has(object.metadata) && has(object.metadata.labels) ? object.metadata.labels : {}"},
	{Name: "oldLabels", Expression: "oldObject != null && has(oldObject.metadata) && has(oldObject.metadata.labels) ? oldObject.metadata.labels : {}"},
}

// ownThings returns a CEL expression that is true for the requests that the policy allows the host in fairlead-system:
//
//   - A push writes Deliveries, but not their status.
//   - A renewal requests tokens of the accounts that the host uses. It creates and deletes the Secrets to which the tokens
//     are bound.
//   - When the host leaves the member, it deletes the namespace or its own account, and the Deployment of a collector that
//     a join installed. It does not delete the collector's account: the member's garbage collector does that.
//
// The policy forbids the host to update the Secrets of tokens, and lets it create them only with the type Opaque. Secrets
// of two other types would have an effect. In a Secret of type kubernetes.io/service-account-token, the member's token
// controller would store a token. If the host is its own member, the manager would read a Secret of Fairlead's own type as
// the credentials of a member.
func ownThings(collector v1alpha1.CollectorMode) string {
	accounts, bound := tokenAccounts(collector)
	things := []string{
		"variables.isNamespace && request.operation == 'DELETE'",
		"variables.group == '" + v1alpha1.Group + "' && variables.resource == 'deliveries' && variables.subresource == ''",
		"variables.group == '' && variables.resource == 'serviceaccounts' && variables.subresource == 'token' && variables.name in ['" + strings.Join(accounts, "', '") + "']",
		"variables.group == '' && variables.resource == 'serviceaccounts' && variables.subresource == '' && variables.name == '" + HostAccount + "' && request.operation == 'DELETE'",
		"variables.group == '' && variables.resource == 'secrets' && variables.name in ['" + strings.Join(bound, "', '") + "'] && " +
			"variables.subresource == '' && (request.operation == 'DELETE' || request.operation == 'CREATE' && has(object.type) && object.type == 'Opaque')",
	}
	if collector == v1alpha1.CollectorMember {
		things = append(things, "variables.group == 'apps' && variables.resource == 'deployments' && variables.subresource == '' && variables.name == '"+
			membercollector.Name+"' && request.operation == 'DELETE'")
	}
	return strings.Join(things, " || ")
}

// onlyMarksChange is a CEL expression. It is true for an update that changes only metadata and status. For a StatefulSet
// the update may also change persistentVolumeClaimRetentionPolicy, because a removal sets this field to keep the claims
// before it deletes the StatefulSet.
const onlyMarksChange = `size(object) == size(oldObject) && object.all(k, k in ['metadata', 'status'] || k in oldObject && (object[k] == oldObject[k] ||
  k == 'spec' && variables.group == 'apps' && variables.resource == 'statefulsets' &&
  oldObject.spec.all(f, f in object.spec) && object.spec.all(f, f == 'persistentVolumeClaimRetentionPolicy' ||
    f in oldObject.spec && object.spec[f] == oldObject.spec[f])))`

// policyValidations returns the rules for the host's account under a namespace policy and a collector mode.
func policyValidations(namespaces v1alpha1.NamespacePolicy, collector v1alpha1.CollectorMode) []admissionregistrationv1.Validation {
	validations := []admissionregistrationv1.Validation{
		refuseUnless("!variables.home.startsWith('kube-')",
			"'namespace ' + variables.home + ' is the system\\'s, and the host writes nothing there: use another namespace'"),
		refuseUnless("variables.home != '"+v1alpha1.SystemNamespace+"' || "+ownThings(collector),
			"'in namespace "+v1alpha1.SystemNamespace+" the host writes its Deliveries and its own credentials only: use another namespace'"),
		refuseUnless(fmt.Sprintf("!variables.isNamespace || !(%[1]q in variables.labels) || "+
			"%[1]q in variables.oldLabels && variables.oldLabels[%[1]q] == variables.labels[%[1]q]", v1alpha1.LabelOpen),
			"'the host may not open namespace ' + variables.home + ': the label "+v1alpha1.LabelOpen+" is set by an administrator of this cluster'"),
		refuseUnless(fmt.Sprintf("!variables.isNamespace || request.operation == 'CREATE' || !(%[1]q in variables.labels) || "+
			"%[1]q in variables.oldLabels && variables.oldLabels[%[1]q] == variables.labels[%[1]q]", v1alpha1.LabelMade),
			"'namespace ' + variables.home + ' was not made by the host, which may not put the label "+v1alpha1.LabelMade+" on it: an administrator may set "+v1alpha1.LabelOpen+"'"),
	}
	if namespaces == v1alpha1.NamespacesAll {
		return validations
	}
	open := func(labels string) string {
		return fmt.Sprintf("%[1]s.exists(k, k in [%[2]q, %[3]q] && %[1]s[k] == 'true')", labels, v1alpha1.LabelOpen, v1alpha1.LabelMade)
	}
	way := "label it " + v1alpha1.LabelOpen + "=true, or join with --namespaces All"
	return append(validations,
		refuseUnless("!variables.isNamespace || request.operation == 'CREATE' || variables.home == '"+v1alpha1.SystemNamespace+"' || "+open("variables.oldLabels"),
			"'namespace ' + variables.home + ' is not open to the host: "+way+"'"),
		refuseUnless("variables.isNamespace || variables.home in ['', '"+v1alpha1.SystemNamespace+"'] || "+
			"namespaceObject != null && has(namespaceObject.metadata.labels) && "+open("namespaceObject.metadata.labels")+" || "+
			// If an administrator closes a namespace, the host may still delete the objects that it delivered there, or
			// remove its marks from them.
			fmt.Sprintf("%q in variables.oldLabels && (request.operation == 'DELETE' || request.operation == 'UPDATE' && %s)", v1alpha1.LabelUID, onlyMarksChange),
			"'namespace ' + variables.home + ' is not open to the host: "+way+"'"),
	)
}

func refuseUnless(expression, message string) admissionregistrationv1.Validation {
	return admissionregistrationv1.Validation{Expression: expression, MessageExpression: message, Reason: ptr.To(metav1.StatusReasonForbidden)}
}

// PolicySpec returns the spec of the ValidatingAdmissionPolicy that restricts the host's account on the member. It allows
// the account only the namespaces of the namespace policy, and only the tokens that the host needs in the collector mode.
// PolicySpec sets even the fields for which the API server has a default, so that a second join finds no difference.
//
// digest identifies the rules. The policy refuses the test Delivery (see Question) with a message that contains the digest.
// The message proves to a join that the API server enforces these rules.
func PolicySpec(
	namespaces v1alpha1.NamespacePolicy, collector v1alpha1.CollectorMode,
) (spec admissionregistrationv1.ValidatingAdmissionPolicySpec, digest string) {
	spec = admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy:   ptr.To(admissionregistrationv1.Fail),
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "host", Expression: "request.userInfo.username == '" + HostUser + "'"}},
		MatchConstraints: &admissionregistrationv1.MatchResources{
			MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),
			NamespaceSelector: &metav1.LabelSelector{},
			ObjectSelector:    &metav1.LabelSelector{},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"},
					Scope: ptr.To(admissionregistrationv1.AllScopes)},
			}}},
		},
		Variables:   policyVariables,
		Validations: policyValidations(namespaces, collector),
	}
	written, err := json.Marshal(spec)
	if err != nil {
		panic(fmt.Sprintf("encoding the admission policy: %v", err)) // every field of the spec has a JSON form
	}
	sum := sha256.Sum256(written)
	digest = string(namespaces) + "-" + hex.EncodeToString(sum[:8])
	spec.Validations = append(spec.Validations, refuseUnless(fmt.Sprintf("variables.group != %q || variables.resource != 'deliveries' || variables.name != %q",
		v1alpha1.Group, policyQuestion), inForce(digest)))
	return spec, digest
}

// inForce returns the CEL expression for the message with which the policy refuses the test Delivery.
func inForce(digest string) string { return "'in force: " + digest + "'" }

// IsInForce reports whether a policy on the member is the one that PolicySpec returns for these settings. It compares only
// the digest in the policy's message. The rest of the spec can differ: a newer API server may fill in a default for a field
// that this version of hostctl does not know.
func IsInForce(policy *admissionregistrationv1.ValidatingAdmissionPolicy, namespaces v1alpha1.NamespacePolicy, collector v1alpha1.CollectorMode) bool {
	_, digest := PolicySpec(namespaces, collector)
	return slices.ContainsFunc(policy.Spec.Validations, func(v admissionregistrationv1.Validation) bool { return v.MessageExpression == inForce(digest) })
}

// Question returns the test Delivery, which the policy refuses.
func Question() *v1alpha1.Delivery {
	return &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: policyQuestion},
		Spec:       v1alpha1.DeliverySpec{Wrapper: v1alpha1.WrapperIdentity{Kind: v1alpha1.KindClusterFederated, Name: policyQuestion, UID: policyQuestion, Generation: 1}},
	}
}

// PolicyBindingSpec returns the spec of the binding that puts the policy into force.
func PolicyBindingSpec() admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec {
	return admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName:        v1alpha1.AdmissionPolicy,
		ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}
}
