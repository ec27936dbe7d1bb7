// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a wrapper. Reconciling and Stalled are present only while they are True: programs that use
// kstatus, such as Flux and Argo CD, expect that.
const (
	// ConditionPlaced: the manager has decided which members get the objects of the present spec (status.placement).
	ConditionPlaced = "Placed"
	// ConditionPushed: every placed member has the update revision, and the wrapper has left all other members.
	ConditionPushed = "Pushed"
	// ConditionHealthy: every placed member is healthy with the revision that the manager wants there now. For a member that
	// waits for its wave, this is an earlier revision.
	ConditionHealthy = "Healthy"
	// ConditionReady is the summary of the other conditions. Wrappers and MemberClusters have it.
	ConditionReady = "Ready"
	// ConditionReconciling: the manager is still bringing the members to the desired state.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: retrying cannot help, or a deadline has passed, for the whole wrapper or for at least one member.
	// The message says which.
	ConditionStalled = "Stalled"
)

// Condition types of a MemberCluster. A MemberCluster also has ConditionReady.
const (
	// ConditionReachable: the member's API server answers.
	ConditionReachable = "Reachable"
	// ConditionCredentialsValid: the member's API server accepts the host's credentials, and belongs to the cluster that
	// joined.
	ConditionCredentialsValid = "CredentialsValid"
	// ConditionCollectorReady: a collector observes the objects on the member.
	ConditionCollectorReady = "CollectorReady"
	// ConditionMemberOutdated: the member's CRDs lack fields that the host's CRDs have, or the member's collector is older
	// than the manager. It is present only while it is True. Another `hostctl join` of the member ends it.
	ConditionMemberOutdated = "MemberOutdated"
)

// Reasons of the conditions of a wrapper, of its events, and of a rollout (status.rollout.waitingFor).
const (
	// ReasonPlaced surfaces when the manager has decided which members get the objects.
	ReasonPlaced = "Placed"
	// ReasonNoClusterMatches surfaces when spec.placement selects no member.
	ReasonNoClusterMatches = "NoClusterMatches"
	// ReasonClusterNotFound surfaces when spec.placement names a MemberCluster that does not exist. If only an override
	// names such a MemberCluster, Ready stays True and has this reason.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonRemovalNeedsApproval surfaces when the wrapper would leave more members within an hour than
	// spec.rollout.maxRemoval allows. It also surfaces on each member that the wrapper cannot leave yet for this reason.
	ReasonRemovalNeedsApproval = "RemovalNeedsApproval"
	// ReasonWaveHeld surfaces on a member that waits because an earlier wave of the rollout has not passed. During a
	// rollback, it surfaces on a member that waits because a later wave has not gone back yet.
	ReasonWaveHeld = "WaveHeld"
	// ReasonWaveNeedsApproval surfaces when the current wave waits for an Approval with allow: Wave before it begins.
	ReasonWaveNeedsApproval = "WaveNeedsApproval"
	// ReasonWaveSoaking surfaces while all members of the current wave are Healthy, but have not been Healthy for soakSeconds
	// yet.
	ReasonWaveSoaking = "WaveSoaking"
	// ReasonMaxUnavailableReached surfaces when as many members are not Healthy as spec.rollout.maxUnavailable allows. The
	// manager then updates no Healthy member.
	ReasonMaxUnavailableReached = "MaxUnavailableReached"
	// ReasonMaxConcurrentReached surfaces when the manager is updating as many members of the wave as maxConcurrent of the
	// wave allows.
	ReasonMaxConcurrentReached = "MaxConcurrentReached"
	// ReasonNotHealthy surfaces when the rollout waits until a member becomes Healthy.
	ReasonNotHealthy = "NotHealthy"
	// ReasonRolloutStopped surfaces when too many members of a wave failed, so the manager updates no further member.
	ReasonRolloutStopped = "RolloutStopped"
	// ReasonRenderingLost surfaces on a member that waits in a rollout, if the manager can no longer render the revision that
	// the member has exactly as before. The manager then reports drift on that member, and does not repair it. The rollout
	// itself has this reason (waitingFor) while it waits for a member, because the manager cannot render the newest revision
	// for that member.
	ReasonRenderingLost = "RenderingLost"
	// ReasonRolloutBegan surfaces as an event when a rollout begins to bring a revision to the members.
	ReasonRolloutBegan = "RolloutBegan"
	// ReasonWaveBegan surfaces as an event when a wave begins, so that the manager may update its members. At the start of
	// a rollout, RolloutBegan surfaces instead.
	ReasonWaveBegan = "WaveBegan"
	// ReasonRolloutComplete surfaces as an event when every wave has passed.
	ReasonRolloutComplete = "RolloutComplete"
	// ReasonRolloutPaused surfaces as an event when too many members failed, and the manager changes no further member:
	// spec.rollout.onFailure is Pause, or there is no good revision to go back to.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonRolloutRollsBack surfaces as an event when too many members failed, and the manager begins to take all members
	// back to the last good revision.
	ReasonRolloutRollsBack = "RolloutRollsBack"
	// ReasonRolloutRolledBack surfaces as an event when every member that the manager can reach is back at the last good
	// revision.
	ReasonRolloutRolledBack = "RolloutRolledBack"
	// ReasonVersionTaken surfaces as an event when the manager takes a new version for a Subscription with
	// `approve: Latest`.
	ReasonVersionTaken = "VersionTaken"
	// ReasonVersionsDiffer surfaces in status.upgrade when members of the first wave report different versions of an
	// operator. The manager then takes none of them.
	ReasonVersionsDiffer = "VersionsDiffer"
	// ReasonApprovalOutdated surfaces as an event when an Approval does not count, because it names another rollout or
	// revision than the present one, or a wave that spec.rollout does not have.
	ReasonApprovalOutdated = "ApprovalOutdated"
	// ReasonAllUpdated surfaces when every placed member has the update revision, and the wrapper has left all other
	// members.
	ReasonAllUpdated = "AllUpdated"
	// ReasonAllHealthy surfaces when the wrapper is healthy on every placed member.
	ReasonAllHealthy = "AllHealthy"
	// ReasonSpecInvalid surfaces when the manager cannot render the spec for any member, although admission accepted it.
	ReasonSpecInvalid = "SpecInvalid"
	// ReasonProgressDeadlineExceeded surfaces on Stalled, and as an event, when a member has not become Healthy by its
	// deadline: that of spec.rollout.progressDeadlineSeconds, or of the kind of the object that is not healthy. In a member's
	// entry in status.clusters the reason has another source: a Deployment on the member reports it for its own deadline.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonDeleting surfaces while the manager removes a deleted wrapper from its members.
	ReasonDeleting = "Deleting"
	// ReasonSuspended surfaces when spec.suspend of the wrapper, or of a MemberCluster, prevents changes on members.
	ReasonSuspended = "Suspended"
)

// Reasons of a member's entry in status.clusters of a wrapper.
const (
	// ReasonPushing surfaces while the manager writes the objects to the member.
	ReasonPushing = "Pushing"
	// ReasonApplying surfaces when the manager has applied the objects, and the collector has not judged their health yet.
	ReasonApplying = "Applying"
	// ReasonLeaving surfaces while the manager removes a wrapper from a member. On a MemberCluster, it surfaces while the
	// manager removes Fairlead from the member.
	ReasonLeaving = "Leaving"
	// ReasonOverrideInvalid surfaces when the manager cannot apply an override for a member. For example, the member's
	// MemberCluster does not have the label that the override needs.
	ReasonOverrideInvalid = "OverrideInvalid"
	// ReasonOverrideTooCostly surfaces when the overrides for one member need more work than the manager allows for one
	// rendering. It also surfaces when all renderings of a wrapper together need more work than the manager allows for one
	// wrapper.
	ReasonOverrideTooCostly = "OverrideTooCostly"
	// ReasonAPINotServed surfaces when the member does not serve the kind of an object, for example because a CRD is
	// missing.
	ReasonAPINotServed = "APINotServed"
	// ReasonAPIServed surfaces in the status of a Delivery, on an object that the manager could not apply because the
	// member did not serve the kind. It means that the member serves the kind now.
	ReasonAPIServed = "APIServed"
	// ReasonScopeMismatch surfaces when a Federated has an object that is cluster-scoped on the member, or when a
	// ClusterFederated has an object that is namespaced there.
	ReasonScopeMismatch = "ScopeMismatch"
	// ReasonNamespaceNotOpen surfaces when the namespacePolicy for the member does not let the host write into a
	// namespace.
	ReasonNamespaceNotOpen = "NamespaceNotOpen"
	// ReasonNamespaceTerminating surfaces when the member is deleting the namespace of the objects.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonNotGranted surfaces when RBAC on the member does not let the host write an object, or does not let the
	// collector read it.
	ReasonNotGranted = "NotGranted"
	// ReasonObjectExists surfaces when the member already has an object of that kind and name that Fairlead did not
	// create.
	ReasonObjectExists = "ObjectExists"
	// ReasonOwnedByOther surfaces when an object of that name on the member belongs to another wrapper.
	ReasonOwnedByOther = "OwnedByOther"
	// ReasonImmutableField surfaces when a push would change an immutable field.
	ReasonImmutableField = "ImmutableField"
	// ReasonInvalid surfaces when the member's API server refuses an object as invalid.
	ReasonInvalid = "Invalid"
	// ReasonRefused surfaces when an admission webhook, a policy or a quota on the member refuses an object.
	ReasonRefused = "Refused"
	// ReasonPushError surfaces when a push has failed and the manager will try it again.
	ReasonPushError = "PushError"
	// ReasonDrifted surfaces when an object on the member differs from what the manager pushed.
	ReasonDrifted = "Drifted"
	// ReasonUnfinished surfaces when the manager changed an object, and did not record the change in the Delivery. For
	// example, the manager was killed in between.
	ReasonUnfinished = "Unfinished"
	// ReasonDriftContested surfaces when another client undoes every repair of an object. The manager then repairs the
	// object less and less often.
	ReasonDriftContested = "DriftContested"
	// ReasonKept surfaces as an event when a wrapper leaves a member, or drops an object, and objects of the wrapper stay
	// there.
	ReasonKept = "Kept"
	// ReasonOperatorLeft surfaces as an event when the manager has deleted a Subscription, and OLM has left the
	// ClusterServiceVersion (CSV) and its operator on the member.
	ReasonOperatorLeft = "OperatorLeft"
	// ReasonRevisionUnreadable surfaces as an event when the manager cannot decrypt revisions of a wrapper, because the
	// host no longer has their key.
	ReasonRevisionUnreadable = "RevisionUnreadable"
	// ReasonRemovalWaits surfaces while the manager waits for an object on the member to disappear, for example because
	// the object has a finalizer.
	ReasonRemovalWaits = "RemovalWaits"
	// ReasonNotEmpty surfaces when the manager does not delete a Namespace or CRD, although onDelete is DeleteAll: the
	// Namespace or CRD has objects that do not belong to the wrapper, or the manager cannot list its objects. The deletion
	// would delete these objects too.
	ReasonNotEmpty = "NotEmpty"
	// ReasonUnreachable surfaces when the member's API server does not answer, or the manager cannot use the answer.
	ReasonUnreachable = "Unreachable"
	// ReasonRedirected surfaces when the member's API server answers with a redirect. The manager follows no redirects.
	ReasonRedirected = "Redirected"
	// ReasonNotHeardFrom surfaces after a start of the manager, until the manager has read the member for the first time.
	ReasonNotHeardFrom = "NotHeardFrom"
	// ReasonHostBehindMember surfaces when the Delivery on the member names a later generation of the wrapper than the
	// host has. For example, the host was restored from a backup.
	ReasonHostBehindMember = "HostBehindMember"
	// ReasonMemberOutdated surfaces when the CRD of Deliveries on the member lacks a field that the manager needs for this
	// push. Another `hostctl join` of the member ends it.
	ReasonMemberOutdated = "MemberOutdated"
	// ReasonWrapperReplaced surfaces when the member has a Delivery of an earlier wrapper of the same name, and the
	// manager cannot take it over: the objects differ, or this host has not sealed it. It also surfaces when one object on
	// the member belongs to such a wrapper.
	ReasonWrapperReplaced = "WrapperReplaced"
)

// Reasons of a MemberReport with a request. Such a report can also have the reason ClusterNotFound, Unreachable, MemberOutdated or
// PushError. With every reason but Answered, the status has no evidence, or the evidence of an earlier answer.
const (
	// ReasonAnswered surfaces when the report has the member's answer.
	ReasonAnswered = "Answered"
	// ReasonRequestPending surfaces while the manager waits for the collector's answer.
	ReasonRequestPending = "RequestPending"
	// ReasonRequestLimitReached surfaces while a request waits because the member already has as many requests as it may have: for this
	// wrapper, or in all. It surfaces also while eight other reports about this wrapper and member have requests.
	ReasonRequestLimitReached = "RequestLimitReached"
	// ReasonWrapperNotFound surfaces when the namespace of the report has no wrapper with the kind, the name and the uid in
	// spec.wrapper.
	ReasonWrapperNotFound = "WrapperNotFound"
	// ReasonObjectNotFound surfaces when the wrapper does not list the object.
	ReasonObjectNotFound = "ObjectNotFound"
	// ReasonSecretRequested surfaces when the object is a Secret. Collectors read no Secrets.
	ReasonSecretRequested = "SecretRequested"
	// ReasonClusterNotPlaced surfaces when the wrapper is not placed on the member.
	ReasonClusterNotPlaced = "ClusterNotPlaced"
	// ReasonDeliveryNotFound surfaces while the member has no Delivery of the wrapper.
	ReasonDeliveryNotFound = "DeliveryNotFound"
	// ReasonPairHeld surfaces while changes of the wrapper on this member are suspended, or the pair is on hold. The manager
	// then writes nothing to the member for this wrapper, and so no request either.
	ReasonPairHeld = "PairHeld"
)

// Reasons of MemberCluster conditions.
const (
	// ReasonAnswers surfaces when the member's API server answers and accepts the credentials.
	ReasonAnswers = "Answers"
	// ReasonNameNotResolved surfaces when the manager's DNS does not resolve the host name in spec.endpoint or spec.proxyURL.
	ReasonNameNotResolved = "NameNotResolved"
	// ReasonConnectionRefused surfaces when nothing listens at spec.endpoint, or at spec.proxyURL.
	ReasonConnectionRefused = "ConnectionRefused"
	// ReasonTLSError surfaces when the manager does not accept the certificate at spec.endpoint, or the server there does
	// not speak TLS.
	ReasonTLSError = "TLSError"
	// ReasonTimeout surfaces when the member's API server does not answer a probe in time.
	ReasonTimeout = "Timeout"
	// ReasonUnauthorized surfaces when the member's API server does not accept the credentials of the host, or those of
	// the collector inside the manager.
	ReasonUnauthorized = "Unauthorized"
	// ReasonForbidden surfaces when the member's API server accepts the credentials, but forbids a request, although
	// `hostctl join` gave the host the right to send it.
	ReasonForbidden = "Forbidden"
	// ReasonCredentialsMissing surfaces when the Secret with the member's credentials does not exist, lacks a key, or has
	// a value that cannot be used.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonEndpointMismatch surfaces when the credentials in the Secret are for another MemberCluster, or for another
	// connection: the MemberCluster has another endpoint, caBundle, tlsServerName or proxyURL than the Secret.
	ReasonEndpointMismatch = "EndpointMismatch"
	// ReasonNotJoined surfaces when the member has no Membership.
	ReasonNotJoined = "NotJoined"
	// ReasonOtherHost surfaces when the member's Membership names another host.
	ReasonOtherHost = "OtherHost"
	// ReasonIdentityChanged surfaces when the endpoint leads to another cluster than the one that joined.
	ReasonIdentityChanged = "IdentityChanged"
	// ReasonCollecting surfaces while the collector observes the member.
	ReasonCollecting = "Collecting"
	// ReasonNoHeartbeat surfaces when the collector has written no heartbeat for three minutes, or has ended.
	ReasonNoHeartbeat = "NoHeartbeat"
	// ReasonCollectorStarting surfaces while the collector's pod on the member is not ready yet.
	ReasonCollectorStarting = "CollectorStarting"
	// ReasonCollectorCrashed surfaces when the collector's container on the member crashes again and again.
	ReasonCollectorCrashed = "CollectorCrashed"
	// ReasonDeploymentMissing surfaces when the collector's Deployment on the member was deleted, or scaled to 0.
	ReasonDeploymentMissing = "DeploymentMissing"
	// ReasonImageNotPulled surfaces when a node of the member cannot pull the collector's image.
	ReasonImageNotPulled = "ImageNotPulled"
	// ReasonPodRefused surfaces when the member does not admit the collector's pod, for example because of Pod Security, a
	// quota or a webhook.
	ReasonPodRefused = "PodRefused"
	// ReasonPodUnschedulable surfaces when the member's scheduler finds no node for the collector's pod.
	ReasonPodUnschedulable = "PodUnschedulable"
	// ReasonCRDsOutdated surfaces when the member's CRDs lack fields that the host's CRDs have.
	ReasonCRDsOutdated = "CRDsOutdated"
	// ReasonCollectorOutdated surfaces when the member's collector is older than the manager.
	ReasonCollectorOutdated = "CollectorOutdated"
	// ReasonReady surfaces when the manager can push to the member.
	ReasonReady = "Ready"
)

// Reasons of the health of objects, for cases in which neither kstatus nor OLM gives a reason.
const (
	// ReasonWaitForFirstConsumer surfaces when a PersistentVolumeClaim waits for a pod that uses it.
	ReasonWaitForFirstConsumer = "WaitForFirstConsumer"
	// ReasonPodNotReady surfaces when a container of a workload's pod runs and does not become ready.
	ReasonPodNotReady = "PodNotReady"
	// ReasonClaimPending surfaces when a PersistentVolumeClaim is not bound.
	ReasonClaimPending = "ClaimPending"
	// ReasonClaimLost surfaces when the volume of a PersistentVolumeClaim no longer exists.
	ReasonClaimLost = "ClaimLost"
	// ReasonNoDefaultClass surfaces when a PersistentVolumeClaim names no StorageClass, and the member has no default
	// StorageClass.
	ReasonNoDefaultClass = "NoDefaultClass"
	// ReasonClassNotFound surfaces when a PersistentVolumeClaim names a StorageClass that the member does not have.
	ReasonClassNotFound = "ClassNotFound"
	// ReasonNoOperatorGroup surfaces when the namespace of a Subscription has no OperatorGroup. OLM then installs nothing,
	// and reports nothing.
	ReasonNoOperatorGroup = "NoOperatorGroup"
	// ReasonTooManyOperatorGroups surfaces when the namespace of a Subscription has more than one OperatorGroup. OLM then installs
	// nothing, and reports that only on a CSV that exists already, with this reason.
	ReasonTooManyOperatorGroups = "TooManyOperatorGroups"
	// ReasonCSVMissing surfaces when the CSV that a Subscription names as installed was deleted. OLM does not install it
	// again.
	ReasonCSVMissing = "CSVMissing"
	// ReasonApprovalRequired surfaces when an InstallPlan waits until a person approves it on the member.
	ReasonApprovalRequired = "ApprovalRequired"
	// ReasonInstallPlanPending surfaces while an InstallPlan waits for the manager. The manager then approves it, or
	// reports why it does not.
	ReasonInstallPlanPending = "InstallPlanPending"
	// ReasonInstallPlanBundlesOthers surfaces when the InstallPlan of a Subscription also changes another owner's
	// operator. The manager does not approve such an InstallPlan.
	ReasonInstallPlanBundlesOthers = "InstallPlanBundlesOthers"
	// ReasonInstallPlanMissing surfaces when the InstallPlan for which a Subscription waits was deleted, and no other
	// InstallPlan installs the same CSV.
	ReasonInstallPlanMissing = "InstallPlanMissing"
	// ReasonUpgradeSkipsTarget surfaces when the next version that OLM offers is later than targetCSV.
	ReasonUpgradeSkipsTarget = "UpgradeSkipsTarget"
	// ReasonTargetNotInCatalog surfaces when the channel of a Subscription does not lead to targetCSV.
	ReasonTargetNotInCatalog = "TargetNotInCatalog"
	// ReasonAheadOfTarget surfaces when the installed version is later than targetCSV. OLM v0 cannot downgrade.
	ReasonAheadOfTarget = "AheadOfTarget"
	// ReasonReinstallAnnounced surfaces for 30 s before the manager removes an operator to reinstall an earlier version
	// (spec.upgrade.rollback: Reinstall). The message says what it removes and what stays.
	ReasonReinstallAnnounced = "ReinstallAnnounced"
	// ReasonReinstalling surfaces from the first removal of a reinstall until the manager has created the Subscription
	// again. In that time no operator may run on the member.
	ReasonReinstalling = "Reinstalling"
	// ReasonReinstallRefused surfaces when an operator is ahead of its target, and the manager keeps it although the author
	// asked for a reinstall. The message says why, and the way out.
	ReasonReinstallRefused = "ReinstallRefused"
	// ReasonReinstallWaits surfaces when an operator is ahead of its target, and it is not the member's turn to be
	// reinstalled.
	ReasonReinstallWaits = "ReinstallWaits"
	// ReasonVersionPending surfaces while the manager has taken no version for a Subscription with approve: Latest. OLM
	// installs nothing until then. In status.upgrade it also surfaces later, while no member of the first wave reports a
	// version. The manager then takes no newer one.
	ReasonVersionPending = "VersionPending"
	// ReasonNamespaceShared surfaces when the namespace on the member has a Subscription of another owner, and
	// spec.upgrade.sharedNamespace is Refuse.
	ReasonNamespaceShared = "NamespaceShared"
	// ReasonOperatorGroupExists surfaces when the namespace on the member already has an OperatorGroup of another owner.
	// With two of them, OLM installs nothing there.
	ReasonOperatorGroupExists = "OperatorGroupExists"
	// ReasonInstallPlanTimedOut surfaces when OLM has been executing the InstallPlan of a Subscription with a target for more
	// than ten minutes. OLM tries again without end, for example while it lacks a permission.
	ReasonInstallPlanTimedOut = "InstallPlanTimedOut"
	// ReasonStatusMissing surfaces while a ClusterExtension has no status, because no operator-controller (OLM v1) has
	// processed it.
	ReasonStatusMissing = "StatusMissing"
	// ReasonBlocked surfaces when operator-controller (OLM v1) does not try a ClusterExtension again until a person
	// changes something.
	ReasonBlocked = "Blocked"
	// ReasonDeprecated surfaces when the publisher has deprecated the package, the channel or the bundle of a
	// ClusterExtension. The ClusterExtension is still Healthy.
	ReasonDeprecated = "Deprecated"
	// ReasonInstalling surfaces while OLM installs or upgrades an operator.
	ReasonInstalling = "Installing"
	// ReasonTerminating surfaces while the member is deleting an object.
	ReasonTerminating = "Terminating"
	// ReasonStatusUnreadable surfaces when the collector cannot interpret the status of an object.
	ReasonStatusUnreadable = "StatusUnreadable"
	// ReasonSettling surfaces while the controller of an object has not written a status for the object's present spec.
	ReasonSettling = "Settling"
)

// IsUnreachable reports whether a reason in the status of a MemberCluster means that the member's API server gives no
// usable answer. A MemberCluster has a reason for each kind of network error. The status of a wrapper has ReasonUnreachable
// in place of all of them.
func IsUnreachable(reason string) bool {
	switch reason {
	case ReasonUnreachable, ReasonNameNotResolved, ReasonConnectionRefused, ReasonTLSError, ReasonTimeout:
		return true
	}
	return false
}
