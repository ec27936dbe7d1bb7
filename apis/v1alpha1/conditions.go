// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a wrapper. Reconciling and Stalled exist only while they are True, so that
// kstatus and `kubectl wait --for=condition=Ready` agree.
const (
	// ConditionPlaced: a decision for the present spec stands in status.placement.
	ConditionPlaced = "Placed"
	// ConditionPushed: every placed member holds the update revision.
	ConditionPushed = "Pushed"
	// ConditionHealthy: what the members hold is well.
	ConditionHealthy = "Healthy"
	// ConditionReady sums up the others; of a MemberCluster too.
	ConditionReady = "Ready"
	// ConditionReconciling: work is under way.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: trying again cannot help on at least one member; a person has to act.
	ConditionStalled = "Stalled"
)

// Condition types of a MemberCluster, beside Ready.
const (
	// ConditionReachable: the API server answers.
	ConditionReachable = "Reachable"
	// ConditionCredentialsValid: it answers to our credentials, and is the cluster that was joined.
	ConditionCredentialsValid = "CredentialsValid"
	// ConditionCollectorReady: a collector observes the objects there.
	ConditionCollectorReady = "CollectorReady"
)

// Reasons of wrapper conditions.
const (
	// ReasonPlaced surfaces when the decision stands.
	ReasonPlaced = "Placed"
	// ReasonNoClusterMatches surfaces when spec.placement selects no member.
	ReasonNoClusterMatches = "NoClusterMatches"
	// ReasonClusterNotFound surfaces when spec.placement names a member that is not registered. Where only an override
	// names one, it is the reason of a Ready that stays True.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonRemovalNeedsApproval surfaces when more members would be left within an hour than
	// spec.rollout.maxRemoval lets go; of a member's line too.
	ReasonRemovalNeedsApproval = "RemovalNeedsApproval"
	// ReasonAllUpdated surfaces when every placed member holds the update revision.
	ReasonAllUpdated = "AllUpdated"
	// ReasonAllHealthy surfaces when every placed member is well.
	ReasonAllHealthy = "AllHealthy"
	// ReasonSpecInvalid surfaces when the spec cannot be rendered for any member and admission did not
	// catch it.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonDeleting surfaces while the wrapper leaves its members.
	ReasonDeleting = "Deleting"
	// ReasonSuspended surfaces when the wrapper or the member is suspended and changes wait.
	ReasonSuspended = "Suspended"
)

// Reasons of one member's line.
const (
	// ReasonPushing surfaces while the objects are being written.
	ReasonPushing = "Pushing"
	// ReasonApplying surfaces when the objects are there and the collector has not judged them yet.
	ReasonApplying = "Applying"
	// ReasonLeaving surfaces while a member is being left, and on a MemberCluster that cannot be unjoined yet.
	ReasonLeaving = "Leaving"
	// ReasonOverrideInvalid surfaces when an override cannot be applied for a member.
	ReasonOverrideInvalid = "OverrideInvalid"
	// ReasonOverrideTooCostly surfaces when overrides take more work for a member than a rendering may, or when
	// a wrapper's distinct renderings take more together than one wrapper may.
	ReasonOverrideTooCostly = "OverrideTooCostly"
	// ReasonAPINotServed surfaces when the member does not serve a kind.
	ReasonAPINotServed = "APINotServed"
	// ReasonAPIServed marks, in a Delivery's status, an object whose kind is served now.
	ReasonAPIServed = "APIServed"
	// ReasonScopeMismatch surfaces when a cluster-scoped kind is in a Federated or the reverse.
	ReasonScopeMismatch = "ScopeMismatch"
	// ReasonNamespaceNotOpen surfaces when namespacePolicy keeps a namespace closed.
	ReasonNamespaceNotOpen = "NamespaceNotOpen"
	// ReasonNamespaceTerminating surfaces when the namespace on the member is being deleted.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonNotGranted surfaces when the member's RBAC does not let the host write an object.
	ReasonNotGranted = "NotGranted"
	// ReasonObjectExists surfaces when an object that Fairlead did not create is in the way.
	ReasonObjectExists = "ObjectExists"
	// ReasonOwnedByOther surfaces when another wrapper's object is in the way.
	ReasonOwnedByOther = "OwnedByOther"
	// ReasonImmutableField surfaces when a change touches a field that cannot be changed.
	ReasonImmutableField = "ImmutableField"
	// ReasonInvalid surfaces when the member refuses an object as invalid.
	ReasonInvalid = "Invalid"
	// ReasonRefused surfaces when admission on the member refuses an object.
	ReasonRefused = "Refused"
	// ReasonPushError surfaces when a push fails and is tried again.
	ReasonPushError = "PushError"
	// ReasonDrifted surfaces when an object is not as it was pushed.
	ReasonDrifted = "Drifted"
	// ReasonDriftContested surfaces when an object is changed back each time it was repaired, and repairs
	// have become rare.
	ReasonDriftContested = "DriftContested"
	// ReasonKept surfaces as an event when a member that is left keeps objects, or a dropped object stays.
	ReasonKept = "Kept"
	// ReasonRevisionUnreadable surfaces as an event when revisions of a wrapper were encrypted with a key that the host
	// does not have any more.
	ReasonRevisionUnreadable = "RevisionUnreadable"
	// ReasonRemovalWaits surfaces when an object is being deleted and something holds it.
	ReasonRemovalWaits = "RemovalWaits"
	// ReasonNotEmpty surfaces when DeleteAll would take others' objects along with a Namespace or CRD.
	ReasonNotEmpty = "NotEmpty"
	// ReasonUnreachable surfaces when the member's API server does not answer.
	ReasonUnreachable = "Unreachable"
	// ReasonRedirected surfaces when the member's endpoint answers with a redirect, which is not followed.
	ReasonRedirected = "Redirected"
	// ReasonNotHeardFrom surfaces before anything was heard from a member.
	ReasonNotHeardFrom = "NotHeardFrom"
	// ReasonHostBehindMember surfaces when a member holds a newer generation than the host knows.
	ReasonHostBehindMember = "HostBehindMember"
	// ReasonWrapperReplaced surfaces when a member holds other objects for an earlier wrapper of the
	// same name, or a Delivery that this host has not sealed.
	ReasonWrapperReplaced = "WrapperReplaced"
)

// Reasons of MemberCluster conditions.
const (
	// ReasonAnswers surfaces when the API server answers, and to us.
	ReasonAnswers = "Answers"
	// ReasonUnauthorized surfaces when the member does not accept the credentials.
	ReasonUnauthorized = "Unauthorized"
	// ReasonForbidden surfaces when the member accepts the credentials and forbids what join granted.
	ReasonForbidden = "Forbidden"
	// ReasonCredentialsMissing surfaces when the Secret is absent or incomplete.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonEndpointMismatch surfaces when the credentials are for another member, or for another connection to it:
	// endpoint, caBundle, tlsServerName, proxyURL.
	ReasonEndpointMismatch = "EndpointMismatch"
	// ReasonNotJoined surfaces when the member has no Membership.
	ReasonNotJoined = "NotJoined"
	// ReasonOtherHost surfaces when the member belongs to another host.
	ReasonOtherHost = "OtherHost"
	// ReasonIdentityChanged surfaces when the endpoint leads to another cluster than was joined.
	ReasonIdentityChanged = "IdentityChanged"
	// ReasonCollecting surfaces when the collector is at work.
	ReasonCollecting = "Collecting"
	// ReasonNoHeartbeat surfaces when the collector has not been heard of for three minutes.
	ReasonNoHeartbeat = "NoHeartbeat"
	// ReasonReady surfaces when nothing is in the way.
	ReasonReady = "Ready"
)

// Reasons of objects where neither kstatus nor OLM has a word.
const (
	// ReasonWaitForFirstConsumer surfaces when a claim waits for a pod that uses it.
	ReasonWaitForFirstConsumer = "WaitForFirstConsumer"
	// ReasonClaimPending surfaces when a claim is not bound.
	ReasonClaimPending = "ClaimPending"
	// ReasonClaimLost surfaces when a claim's volume is gone.
	ReasonClaimLost = "ClaimLost"
	// ReasonNoDefaultClass surfaces when a claim names no class and the member has no default.
	ReasonNoDefaultClass = "NoDefaultClass"
	// ReasonClassNotFound surfaces when a claim names a class that the member lacks.
	ReasonClassNotFound = "ClassNotFound"
	// ReasonNoOperatorGroup surfaces when a Subscription's namespace has no OperatorGroup: OLM says
	// nothing then.
	ReasonNoOperatorGroup = "NoOperatorGroup"
	// ReasonCSVMissing surfaces when the CSV that a Subscription calls installed was deleted: OLM does
	// not install it again.
	ReasonCSVMissing = "CSVMissing"
	// ReasonApprovalRequired surfaces when an InstallPlan waits for a person.
	ReasonApprovalRequired = "ApprovalRequired"
	// ReasonInstalling surfaces while OLM installs or upgrades.
	ReasonInstalling = "Installing"
	// ReasonTerminating surfaces while an object is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonStatusUnreadable surfaces when an object's status is not of the shape of its kind.
	ReasonStatusUnreadable = "StatusUnreadable"
	// ReasonSettling surfaces while a custom resource has not spoken yet.
	ReasonSettling = "Settling"
)
