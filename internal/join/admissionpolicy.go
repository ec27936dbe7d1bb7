// SPDX-License-Identifier: Apache-2.0

package join

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

// HostUser is the name under which a member's API server knows the host's account.
const HostUser = "system:serviceaccount:" + v1alpha1.SystemNamespace + ":" + HostAccount

// policyQuestion is the name of a Delivery that does not exist. The policy refuses it, and the refusal names the policy's digest:
// a join writes it as a dry run to learn which policy is in force.
const policyQuestion = "admission-policy"

// These are CEL expressions. "home" is the namespace that a request is about, or empty. It is computed, because in a
// request about a Namespace the API server sets request.namespace to the Namespace's own name or leaves it empty.
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

// ownThings are the only requests that the policy allows the host in fairlead-system: those that its code sends. A push writes
// Deliveries, but not their status. A renewal requests tokens of the accounts that the host uses, and creates and deletes the Secrets
// that the tokens are bound to. Leaving deletes the namespace or the host's own account, and a collector that a join installed. The
// member's garbage collector deletes the collector's account.
//
// The host never changes these Secrets, and they must be Opaque. The member's controller would fill a Secret of type
// kubernetes.io/service-account-token. A host that is its own member would use a Secret of Fairlead's own type as credentials.
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

// onlyMarksChange is true for an update that changes only metadata and status, or makes a StatefulSet keep its
// claims.
const onlyMarksChange = `size(object) == size(oldObject) && object.all(k, k in ['metadata', 'status'] || k in oldObject && (object[k] == oldObject[k] ||
  k == 'spec' && variables.group == 'apps' && variables.resource == 'statefulsets' &&
  oldObject.spec.all(f, f in object.spec) && object.spec.all(f, f == 'persistentVolumeClaimRetentionPolicy' ||
    f in oldObject.spec && object.spec[f] == oldObject.spec[f])))`

// policyValidations are the rules for the host's account under a namespace policy and a collector mode.
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
			// The host may remove objects that it delivered while the namespace was open, or release them as they
			// are.
			fmt.Sprintf("%q in variables.oldLabels && (request.operation == 'DELETE' || request.operation == 'UPDATE' && %s)", v1alpha1.LabelUID, onlyMarksChange),
			"'namespace ' + variables.home + ' is not open to the host: "+way+"'"),
	)
}

func refuseUnless(expression, message string) admissionregistrationv1.Validation {
	return admissionregistrationv1.Validation{Expression: expression, MessageExpression: message, Reason: ptr.To(metav1.StatusReasonForbidden)}
}

// policySpec is the ValidatingAdmissionPolicy that restricts the host's account to a namespace policy, and to the tokens that the
// host needs under a collector mode. Every field is filled as the API server would fill it. The API server refuses question with a
// message that holds digest. So the join learns that the API server enforces this policy.
func policySpec(
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
		panic(fmt.Sprintf("encoding the admission policy: %v", err)) // every field of it has a JSON form
	}
	sum := sha256.Sum256(written)
	digest = string(namespaces) + "-" + hex.EncodeToString(sum[:8])
	spec.Validations = append(spec.Validations, refuseUnless(fmt.Sprintf("variables.group != %q || variables.resource != 'deliveries' || variables.name != %q",
		v1alpha1.Group, policyQuestion), inForce(digest)))
	return spec, digest
}

// inForce is the CEL expression with which the policy in force answers question.
func inForce(digest string) string { return "'in force: " + digest + "'" }

// isInForce reports whether a policy is the policy for these settings. It compares the digest only: an API server may fill in a default that
// this version of the join does not know.
func isInForce(policy *admissionregistrationv1.ValidatingAdmissionPolicy, namespaces v1alpha1.NamespacePolicy, collector v1alpha1.CollectorMode) bool {
	_, digest := policySpec(namespaces, collector)
	return slices.ContainsFunc(policy.Spec.Validations, func(v admissionregistrationv1.Validation) bool { return v.MessageExpression == inForce(digest) })
}

// question is the Delivery that the policy in force refuses.
func question() *v1alpha1.Delivery {
	return &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: policyQuestion},
		Spec:       v1alpha1.DeliverySpec{Wrapper: v1alpha1.WrapperIdentity{Kind: v1alpha1.KindClusterFederated, Name: policyQuestion, UID: policyQuestion, Generation: 1}},
	}
}

func policyBindingSpec() admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec {
	return admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName:        v1alpha1.AdmissionPolicy,
		ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}
}
