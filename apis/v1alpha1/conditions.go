// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a wrapper. Reconciling and Stalled exist only while they are True, because kstatus reads them so.
const (
	// ConditionPlaced: status.placement has a decision for the present spec.
	ConditionPlaced = "Placed"
	// ConditionPushed: every placed member holds the update revision.
	ConditionPushed = "Pushed"
	// ConditionHealthy: the objects on the members are healthy.
	ConditionHealthy = "Healthy"
	// ConditionReady is the summary of the other conditions, of a wrapper and of a MemberCluster.
	ConditionReady = "Ready"
	// ConditionReconciling: work is under way.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: on at least one member another try cannot help; a person has to act.
	ConditionStalled = "Stalled"
)

// Condition types of a MemberCluster, beside Ready.
const (
	// ConditionReachable: the member's API server answers.
	ConditionReachable = "Reachable"
	// ConditionCredentialsValid: the API server accepts the host's credentials, and belongs to the cluster that joined.
	ConditionCredentialsValid = "CredentialsValid"
	// ConditionCollectorReady: a collector observes the objects on the member.
	ConditionCollectorReady = "CollectorReady"
	// ConditionMemberOutdated exists only while it is True: the member's CRDs lack fields of the host's, or its
	// collector is older than the manager. Another join of the member ends it.
	ConditionMemberOutdated = "MemberOutdated"
)

// Reasons of wrapper conditions.
const (
	// ReasonPlaced surfaces when the placement is decided.
	ReasonPlaced = "Placed"
	// ReasonNoClusterMatches surfaces when spec.placement selects no member.
	ReasonNoClusterMatches = "NoClusterMatches"
	// ReasonClusterNotFound surfaces when spec.placement names a member that is not registered. If only an override
	// names such a member, it is the reason of a Ready that stays True.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonRemovalNeedsApproval surfaces when the wrapper would leave more members within an hour than
	// spec.rollout.maxRemoval allows; also on a member's line.
	ReasonRemovalNeedsApproval = "RemovalNeedsApproval"
	// ReasonWaveHeld surfaces on a member that waits, because an earlier wave of the rollout has not passed.
	ReasonWaveHeld = "WaveHeld"
	// ReasonWaveNeedsApproval surfaces when the current wave begins only after an Approval.
	ReasonWaveNeedsApproval = "WaveNeedsApproval"
	// ReasonWaveSoaking surfaces while all members of the current wave are Healthy and have to stay so for soakSeconds.
	ReasonWaveSoaking = "WaveSoaking"
	// ReasonMaxUnavailableReached surfaces when so many members are not Healthy that no other one may change.
	ReasonMaxUnavailableReached = "MaxUnavailableReached"
	// ReasonMaxConcurrentReached surfaces when as many members of the wave change as maxConcurrent allows.
	ReasonMaxConcurrentReached = "MaxConcurrentReached"
	// ReasonNotHealthy surfaces when the rollout waits for updated members to become Healthy.
	ReasonNotHealthy = "NotHealthy"
	// ReasonRolloutStopped surfaces when too many members failed, and no further member changes.
	ReasonRolloutStopped = "RolloutStopped"
	// ReasonRenderingLost surfaces on a member that waits, when its earlier revision cannot be rendered again as it was.
	// Drift is reported there and not repaired.
	ReasonRenderingLost = "RenderingLost"
	// ReasonRolloutBegan surfaces as an event when a revision begins to go out.
	ReasonRolloutBegan = "RolloutBegan"
	// ReasonWaveBegan surfaces as an event when the members of a later wave may change.
	ReasonWaveBegan = "WaveBegan"
	// ReasonRolloutComplete surfaces as an event when every wave has passed.
	ReasonRolloutComplete = "RolloutComplete"
	// ReasonRolloutPaused surfaces as an event when too many members failed and spec.rollout.onFailure is Pause.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonRolloutRollsBack surfaces as an event when too many members failed and the fleet goes back.
	ReasonRolloutRollsBack = "RolloutRollsBack"
	// ReasonRolloutRolledBack surfaces as an event when every member that the manager can reach is back.
	ReasonRolloutRolledBack = "RolloutRolledBack"
	// ReasonApprovalOutdated surfaces as an event when an Approval names another rollout or revision, so it does not count.
	ReasonApprovalOutdated = "ApprovalOutdated"
	// ReasonAllUpdated surfaces when every placed member holds the update revision.
	ReasonAllUpdated = "AllUpdated"
	// ReasonAllHealthy surfaces when the wrapper is healthy on every placed member.
	ReasonAllHealthy = "AllHealthy"
	// ReasonSpecInvalid surfaces when the spec cannot be rendered for any member and admission did not
	// catch it.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonDeleting surfaces while the manager removes a deleted wrapper from its members.
	ReasonDeleting = "Deleting"
	// ReasonSuspended surfaces when the wrapper or the member is suspended and changes wait.
	ReasonSuspended = "Suspended"
)

// Reasons of a member's line in the status of a wrapper.
const (
	// ReasonPushing surfaces while the manager writes the objects.
	ReasonPushing = "Pushing"
	// ReasonApplying surfaces when the objects are there and the collector has not judged them yet.
	ReasonApplying = "Applying"
	// ReasonLeaving surfaces while the manager removes a wrapper from a member, and on a MemberCluster whose unjoin
	// has not finished.
	ReasonLeaving = "Leaving"
	// ReasonOverrideInvalid surfaces when an override cannot be applied for a member.
	ReasonOverrideInvalid = "OverrideInvalid"
	// ReasonOverrideTooCostly surfaces when the overrides for a member exceed the work limit of a rendering, or when
	// the distinct renderings of a wrapper together exceed the limit of a wrapper.
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
	// ReasonNotGranted surfaces when the member's RBAC does not allow the host to write an object.
	ReasonNotGranted = "NotGranted"
	// ReasonObjectExists surfaces when the member already has an object of that name that Fairlead did not create.
	ReasonObjectExists = "ObjectExists"
	// ReasonOwnedByOther surfaces when the member already has an object of that name that another wrapper delivered.
	ReasonOwnedByOther = "OwnedByOther"
	// ReasonImmutableField surfaces when a change touches a field that cannot be changed.
	ReasonImmutableField = "ImmutableField"
	// ReasonInvalid surfaces when the member refuses an object as invalid.
	ReasonInvalid = "Invalid"
	// ReasonRefused surfaces when admission on the member refuses an object.
	ReasonRefused = "Refused"
	// ReasonPushError surfaces when a push fails and the manager tries it again.
	ReasonPushError = "PushError"
	// ReasonDrifted surfaces when an object differs from what the manager pushed.
	ReasonDrifted = "Drifted"
	// ReasonUnfinished surfaces when the manager changed an object and did not record that, for example because it was
	// killed in between.
	ReasonUnfinished = "Unfinished"
	// ReasonDriftContested surfaces when another client changes an object back after every repair, and repairs have
	// become rare.
	ReasonDriftContested = "DriftContested"
	// ReasonKept surfaces as an event when a wrapper leaves objects on a member, or keeps an object that it dropped.
	ReasonKept = "Kept"
	// ReasonRevisionUnreadable surfaces as an event when revisions of a wrapper are encrypted with a key that the host
	// no longer has.
	ReasonRevisionUnreadable = "RevisionUnreadable"
	// ReasonRemovalWaits surfaces while an object on the member cannot be removed yet, for example because of a
	// finalizer.
	ReasonRemovalWaits = "RemovalWaits"
	// ReasonNotEmpty surfaces when onDelete: DeleteAll does not delete a Namespace or CRD, because the deletion would
	// also delete objects that do not belong to the wrapper.
	ReasonNotEmpty = "NotEmpty"
	// ReasonUnreachable surfaces when the member's API server does not answer, or the manager cannot use its answer.
	ReasonUnreachable = "Unreachable"
	// ReasonRedirected surfaces when the member's endpoint answers with a redirect, which the manager does not follow.
	ReasonRedirected = "Redirected"
	// ReasonNotHeardFrom surfaces before the manager has reached a member.
	ReasonNotHeardFrom = "NotHeardFrom"
	// ReasonHostBehindMember surfaces when a member holds a newer generation than the host knows.
	ReasonHostBehindMember = "HostBehindMember"
	// ReasonMemberOutdated surfaces when the member's CRDs lack a field that the record of a push needs. Another join of
	// the member ends it.
	ReasonMemberOutdated = "MemberOutdated"
	// ReasonWrapperReplaced surfaces when a member holds other objects for an earlier wrapper of the same name, or a
	// Delivery that this host has not sealed.
	ReasonWrapperReplaced = "WrapperReplaced"
)

// Reasons of MemberCluster conditions.
const (
	// ReasonAnswers surfaces when the API server answers and accepts the credentials.
	ReasonAnswers = "Answers"
	// ReasonUnauthorized surfaces when the member does not accept the credentials.
	ReasonUnauthorized = "Unauthorized"
	// ReasonForbidden surfaces when the member accepts the credentials and forbids a request that the join allowed.
	ReasonForbidden = "Forbidden"
	// ReasonCredentialsMissing surfaces when the Secret is absent or incomplete.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonEndpointMismatch surfaces when the Secret's credentials are for another member, or for another endpoint,
	// caBundle, tlsServerName or proxyURL than the MemberCluster has.
	ReasonEndpointMismatch = "EndpointMismatch"
	// ReasonNotJoined surfaces when the member has no Membership.
	ReasonNotJoined = "NotJoined"
	// ReasonOtherHost surfaces when the member belongs to another host.
	ReasonOtherHost = "OtherHost"
	// ReasonIdentityChanged surfaces when the endpoint leads to another cluster than the one that joined.
	ReasonIdentityChanged = "IdentityChanged"
	// ReasonCollecting surfaces while the collector observes the member.
	ReasonCollecting = "Collecting"
	// ReasonNoHeartbeat surfaces when the collector has written no heartbeat for three minutes.
	ReasonNoHeartbeat = "NoHeartbeat"
	// ReasonCollectorStarting surfaces while the pod of the collector on the member starts.
	ReasonCollectorStarting = "CollectorStarting"
	// ReasonCollectorCrashed surfaces when the container of the collector on the member ends again and again.
	ReasonCollectorCrashed = "CollectorCrashed"
	// ReasonDeploymentMissing surfaces when the collector's Deployment is not on the member.
	ReasonDeploymentMissing = "DeploymentMissing"
	// ReasonImageNotPulled surfaces when a node of the member cannot pull the collector's image.
	ReasonImageNotPulled = "ImageNotPulled"
	// ReasonPodRefused surfaces when the member does not admit the collector's pod: Pod Security, a quota, a webhook.
	ReasonPodRefused = "PodRefused"
	// ReasonPodUnschedulable surfaces when no node of the member takes the collector's pod.
	ReasonPodUnschedulable = "PodUnschedulable"
	// ReasonCRDsOutdated surfaces when the member's CRDs lack fields that the host's have.
	ReasonCRDsOutdated = "CRDsOutdated"
	// ReasonCollectorOutdated surfaces when the member's collector is older than the manager.
	ReasonCollectorOutdated = "CollectorOutdated"
	// ReasonReady surfaces when the member can be served.
	ReasonReady = "Ready"
)

// Reasons of objects for which neither kstatus nor OLM has a reason.
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
	// ReasonNoOperatorGroup surfaces when a Subscription's namespace has no OperatorGroup: OLM reports nothing then.
	ReasonNoOperatorGroup = "NoOperatorGroup"
	// ReasonCSVMissing surfaces when the CSV of a Subscription's status was deleted: OLM does not install it again.
	ReasonCSVMissing = "CSVMissing"
	// ReasonApprovalRequired surfaces when an InstallPlan waits for a person.
	ReasonApprovalRequired = "ApprovalRequired"
	// ReasonInstallPlanPending surfaces while an InstallPlan waits for the manager, which approves it or tells why not.
	ReasonInstallPlanPending = "InstallPlanPending"
	// ReasonInstallPlanBundlesOthers surfaces when an InstallPlan also changes the operator of another owner.
	ReasonInstallPlanBundlesOthers = "InstallPlanBundlesOthers"
	// ReasonInstallPlanMissing surfaces when the InstallPlan that a Subscription waits for was deleted.
	ReasonInstallPlanMissing = "InstallPlanMissing"
	// ReasonUpgradeSkipsTarget surfaces when OLM's next version is beyond the target.
	ReasonUpgradeSkipsTarget = "UpgradeSkipsTarget"
	// ReasonTargetNotInCatalog surfaces when the channel of a Subscription does not lead to the target.
	ReasonTargetNotInCatalog = "TargetNotInCatalog"
	// ReasonAheadOfTarget surfaces when a later version than the target is installed: OLM v0 cannot downgrade.
	ReasonAheadOfTarget = "AheadOfTarget"
	// ReasonNamespaceShared surfaces when the namespace has a Subscription of another owner, whose upgrades would wait for approval.
	ReasonNamespaceShared = "NamespaceShared"
	// ReasonOperatorGroupExists surfaces when the namespace has an OperatorGroup of another owner beside the wrapper's.
	ReasonOperatorGroupExists = "OperatorGroupExists"
	// ReasonInstalling surfaces while OLM installs or upgrades.
	ReasonInstalling = "Installing"
	// ReasonTerminating surfaces while an object is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonStatusUnreadable surfaces when the collector cannot interpret an object's status.
	ReasonStatusUnreadable = "StatusUnreadable"
	// ReasonSettling surfaces while the controller of an object has not written a status for its present spec.
	ReasonSettling = "Settling"
)
