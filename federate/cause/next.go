// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// documentation is the path, in the repository, of the page that has a row for every reason of Fairlead.
const documentation = "docs/troubleshooting.md"

// Anchors of the sections of the page.
const (
	ofWrappers = "conditions-of-a-wrapper"
	ofRollouts = "rollouts"
	ofLines    = "lines-of-a-member"
	ofMembers  = "conditions-of-a-membercluster"
	ofObjects  = "objects"
)

// placeholder stands in the text of a step. stepOf replaces it by the wrapper, in the form that hostctl's commands
// take.
const placeholder = "$WRAPPER"

// step is what a person does about a reason, in one sentence, and the section of the page that explains the reason. The field section
// is "" if the page does not explain the reason.
type step struct{ next, section string }

// stepOf returns the next step for a reason, and where the documentation explains the reason. For a reason that the table does not have, the
// step depends on the state, and no page explains the reason. Both are "" where none is known.
func stepOf(reason string, state v1alpha1.ClusterState, wrapper string) (next, where string) {
	s, known := steps[reason]
	if !known {
		s = step{next: stepsByState[state]}
	}
	if s.section != "" {
		where = documentation + "#" + s.section
	}
	return strings.ReplaceAll(s.next, placeholder, wrapper), where
}

// StepOf returns the next step for the reason of an object, and where the documentation explains the reason: a path in the repository, with
// an anchor. The parameter wrapper has the form that hostctl's commands take. flags choose the object, for example
// "--object Deployment/web": the step has them behind the commands that show evidence, which otherwise show that of all objects of the wrapper.
// The caller does not know the object's state. So for a reason that the table does not have, StepOf returns the step of a degraded object.
func StepOf(reason, wrapper, flags string) (next, where string) {
	next, where = stepOf(reason, v1alpha1.StateDegraded, wrapper)
	if flags == "" {
		return next, where
	}
	logs, events := "`hostctl logs "+wrapper, "`hostctl events "+wrapper
	return strings.NewReplacer(logs, logs+" "+flags, events, events+" "+flags).Replace(next), where
}

// stepsByState has the steps for reasons that the table of steps does not have: a controller on the member gave them. It has none for Pushing,
// which passes by itself, and for Unreachable, which concerns the whole member.
var stepsByState = map[v1alpha1.ClusterState]string{
	v1alpha1.StateStalled:  "correct what the message names, since another try does not help; `hostctl events $WRAPPER` shows what led to it",
	v1alpha1.StateDegraded: "mend what the message names; `hostctl events $WRAPPER` and `hostctl logs $WRAPPER` show what the member reports",
	v1alpha1.StateHeld:     "decide what the message asks; `hostctl recover $WRAPPER` shows why the manager holds, and the ways out",
	v1alpha1.StateWaiting:  "wait for what the message names, or bring it about on the member; `hostctl events $WRAPPER -w` shows when it comes",

	v1alpha1.StateProgressing: progresses,
}

// progresses is the step for an object whose controller is at work.
const progresses = "wait; if it stays so, `hostctl events $WRAPPER` shows what the controllers on the member say"

const joinAgain = "run `hostctl join NAME --cluster-kubeconfig FILE` for these members again"

// steps has each reason that the line of a member, or a cause without members, can have.
var steps = map[string]step{
	v1alpha1.ReasonNoClusterMatches:         {"compare spec.placement with the labels that `kubectl get memberclusters --show-labels` shows", ofWrappers},
	v1alpha1.ReasonClusterNotFound:          {"correct the name in spec.placement.clusters.names, or join that member", ofWrappers},
	v1alpha1.ReasonSpecInvalid:              {"correct the field that the message names", ofWrappers},
	v1alpha1.ReasonSuspended:                {"set `suspend: None` on the wrapper, or on the MemberCluster, when changes may continue", ofWrappers},
	v1alpha1.ReasonRemovalNeedsApproval:     {"restore the placement or the labels, or approve the removal with `hostctl approve $WRAPPER --removal`", ofWrappers},
	v1alpha1.ReasonProgressDeadlineExceeded: {"look at the member that the message names: `hostctl describe $WRAPPER --cluster MEMBER`", ofWrappers},
	v1alpha1.ReasonDeleting:                 {"wait until the wrapper has left its members", ofWrappers},

	v1alpha1.ReasonWaveHeld:              {"wait: `hostctl rollout status $WRAPPER` shows what the current wave waits for", ofRollouts},
	v1alpha1.ReasonWaveNeedsApproval:     {"look at the earlier waves, then run the command in the message", ofRollouts},
	v1alpha1.ReasonWaveSoaking:           {"wait until the wave has soaked", ofRollouts},
	v1alpha1.ReasonMaxUnavailableReached: {"mend the members that are not healthy, or raise spec.rollout.maxUnavailable", ofRollouts},
	v1alpha1.ReasonMaxConcurrentReached:  {"wait for the members of the wave that change now", ofRollouts},
	v1alpha1.ReasonNotHealthy:            {"look at the member that `hostctl rollout status $WRAPPER` names", ofRollouts},
	v1alpha1.ReasonRolloutStopped:        {"change the objects or the overrides, or remove the cause and run `hostctl approve $WRAPPER --retry`", ofRollouts},
	v1alpha1.ReasonRenderingLost:         {"wait: the update of the member ends it", ofRollouts},

	v1alpha1.ReasonPushing:           {"wait: the manager writes the objects", ofLines},
	v1alpha1.ReasonApplying:          {"wait for the collector of the member to report", ofLines},
	v1alpha1.ReasonLeaving:           {"wait; for a member that is lost for good, run `hostctl approve $WRAPPER --release MEMBER`", ofLines},
	v1alpha1.ReasonOverrideInvalid:   {"correct the override that the message names, or its clusters; `hostctl render $WRAPPER` shows the result", ofLines},
	v1alpha1.ReasonOverrideTooCostly: {"let overrides change long lists as a whole, let fewer objects differ between members, or split the wrapper", ofLines},
	v1alpha1.ReasonAPINotServed:      {"install the CRD or the operator of the kind on the member; the manager then pushes the object within seconds", ofLines},
	v1alpha1.ReasonScopeMismatch:     {"move the object to a wrapper of the other scope", ofLines},
	v1alpha1.ReasonNamespaceNotOpen:  {"label the namespace on the member as the message says, or place the wrapper elsewhere", ofLines},
	v1alpha1.ReasonNamespaceTerminating: {
		"find on the member what blocks the deletion of the namespace; the push continues when the namespace is gone", ofLines},
	v1alpha1.ReasonNotGranted:       {"add the rule in the message to the member with a ClusterRole, or join the member again with more in --allow", ofLines},
	v1alpha1.ReasonObjectExists:     {"remove or rename the object on the member or the one in the wrapper, or set `onConflict: AdoptIfEqual` where both are equal", ofLines},
	v1alpha1.ReasonOwnedByOther:     {"remove the object from one of the two wrappers", ofLines},
	v1alpha1.ReasonWrapperReplaced:  {"run `hostctl recover $WRAPPER`, which shows the ways out; do not delete the Delivery", ofLines},
	v1alpha1.ReasonImmutableField:   {"revert the change of the field, or let the manager replace an object that holds no data: annotation federation.fairlead.dev/replace", ofLines},
	v1alpha1.ReasonInvalid:          {"correct the field that the message names, or override it for the member", ofLines},
	v1alpha1.ReasonRefused:          {"satisfy the policy, the webhook or the quota that the message names, or ask its owner", ofLines},
	v1alpha1.ReasonPushError:        {"wait: the manager tries again; if the error stays, mend the part of the member that the message names, or a webhook there that hangs", ofLines},
	v1alpha1.ReasonDrifted:          {"with `drift: Repair` wait; with `drift: Report` decide which side is right", ofLines},
	v1alpha1.ReasonUnfinished:       {"wait: the manager applies the object again", ofLines},
	v1alpha1.ReasonDriftContested:   {"stop the client that undoes the repairs, remove the field from the wrapper, or set `drift: Report`", ofLines},
	v1alpha1.ReasonRemovalWaits:     {"look on the member at the finalizers that the message names, and at the controllers that remove them", ofLines},
	v1alpha1.ReasonNotEmpty:         {"move the objects of others out of the namespace, or set `onDelete: KeepData`", ofLines},
	v1alpha1.ReasonUnreachable:      {"look at the network and the API server of the member; `kubectl describe membercluster` has the error", ofLines},
	v1alpha1.ReasonNotHeardFrom:     {"wait some seconds: the manager reads the members after its start", ofLines},
	v1alpha1.ReasonMemberOutdated:   {joinAgain + ": it upgrades their CRDs", ofLines},
	v1alpha1.ReasonHostBehindMember: {"apply the newer manifest from Git, or run `hostctl recover $WRAPPER --keep host`", ofLines},

	v1alpha1.ReasonUnauthorized:       {joinAgain + ": it repairs the credentials", ofMembers},
	v1alpha1.ReasonForbidden:          {joinAgain + ": it restores the roles", ofMembers},
	v1alpha1.ReasonCredentialsMissing: {"put back the field that the message names, or join the members again", ofMembers},
	v1alpha1.ReasonEndpointMismatch:   {"put back the field that the message names, or join the members again", ofMembers},
	v1alpha1.ReasonNotJoined:          {joinAgain, ofMembers},
	v1alpha1.ReasonOtherHost:          {"give the member up with `hostctl unjoin NAME --forget`, or unjoin it at the other host first", ofMembers},
	v1alpha1.ReasonIdentityChanged: {
		"put spec.endpoint back, or join the members again with `--server URL`; for a new cluster, unjoin the member with --forget and join that cluster", ofMembers},
	v1alpha1.ReasonRedirected: {"run `hostctl join NAME --cluster-kubeconfig FILE --server URL` with the address of the API server itself", ofMembers},

	v1alpha1.ReasonWaitForFirstConsumer:  {"wait: the claim binds when the first pod uses it", ofObjects},
	v1alpha1.ReasonClaimPending:          {"look on the member at the StorageClass of the claim and its provisioner", ofObjects},
	v1alpha1.ReasonClaimLost:             {"restore the data of the claim from a backup", ofObjects},
	v1alpha1.ReasonNoDefaultClass:        {"name a StorageClass by an override, or mark one of the member as default", ofObjects},
	v1alpha1.ReasonClassNotFound:         {"federate the StorageClass; or name another by an override, and delete the claim on the member, since its class cannot change", ofObjects},
	v1alpha1.ReasonNoOperatorGroup:       {"add an OperatorGroup for the namespace to the wrapper", ofObjects},
	v1alpha1.ReasonTooManyOperatorGroups: {"on the member run `kubectl -n NAMESPACE get operatorgroups` and delete all but one; if the wrapper has one, keep that one", ofObjects},
	v1alpha1.ReasonCSVMissing:            {"delete the Subscription on the member: the manager pushes it again", ofObjects},
	v1alpha1.ReasonApprovalRequired:      {"approve the InstallPlan on the member", ofObjects},
	v1alpha1.ReasonInstallPlanPending:    {"wait: the manager approves the InstallPlan, or reports why it does not", ofObjects},
	v1alpha1.ReasonInstallPlanBundlesOthers: {
		"agree with the owner of the other operator and approve the InstallPlan on the member, or move one operator to its own namespace", ofObjects},
	v1alpha1.ReasonInstallPlanMissing:  {"delete the Subscription and its CSV on the member: the manager pushes the Subscription again", ofObjects},
	v1alpha1.ReasonVersionPending:      {"wait until the first wave reports one version; `hostctl rollout status $WRAPPER` shows why it may take long", ofObjects},
	v1alpha1.ReasonUpgradeSkipsTarget:  {"choose a targetCSV that the channel reaches; with `approve: Latest` run `hostctl rollout retry $WRAPPER`", ofObjects},
	v1alpha1.ReasonInstallPlanTimedOut: {"look on the member at the status of the InstallPlan, and give OLM what its message says is missing", ofObjects},
	v1alpha1.ReasonTargetNotInCatalog:  {"correct targetCSV or the channel, or update the catalog of the member", ofObjects},
	v1alpha1.ReasonAheadOfTarget:       {"raise targetCSV, or remove the operator on the member", ofObjects},
	v1alpha1.ReasonReinstallAnnounced:  {"wait; to keep the operator, set spec.upgrade.rollback: Never within 30 s", ofObjects},
	v1alpha1.ReasonReinstalling:        {"wait: the manager removes the operator and installs the target", ofObjects},
	v1alpha1.ReasonReinstallRefused:    {"do what the message says; the manager keeps the operator until then", ofObjects},
	v1alpha1.ReasonReinstallWaits:      {"wait for the members that are reinstalled first; `hostctl rollout status $WRAPPER` shows them", ofObjects},
	v1alpha1.ReasonNamespaceShared:     {"give the Subscription a namespace of its own, or set `sharedNamespace: Allow` in spec.upgrade", ofObjects},
	v1alpha1.ReasonOperatorGroupExists: {"take the OperatorGroup out of the wrapper, or adopt the one on the member", ofObjects},
	v1alpha1.ReasonInstalling:          {"wait: OLM installs or upgrades", ofObjects},
	v1alpha1.ReasonStatusMissing:       {"install OLM v1 on the member, or read the log of its operator-controller", ofObjects},
	v1alpha1.ReasonBlocked:             {"correct the spec of the ClusterExtension, or the catalog", ofObjects},
	v1alpha1.ReasonDeprecated:          {"plan to replace what its publisher has deprecated", ofObjects},
	v1alpha1.ReasonTerminating:         {"find on the member what blocks the deletion of the object", ofObjects},
	v1alpha1.ReasonStatusUnreadable:    {"look on the member at the controller of the object's kind", ofObjects},
	v1alpha1.ReasonSettling:            {"wait for the controller of the object to write a status", ofObjects},

	// These reasons come from kstatus, Kubernetes and OLM.
	lessReplicas:  {progresses, ofObjects},
	lessUpdated:   {progresses, ofObjects},
	lessAvailable: {progresses, ofObjects},
	lessReady:     {progresses, ofObjects},
	inProgress:    {progresses, ""},

	transientFailure:           {"look on the member at the pod of the CatalogSource, and at the address in the message", ""},
	installPlanFailed:          {"correct what the status of the InstallPlan on the member says; if OLM then does not try the plan again, delete the Subscription and its CSV there", ""},
	catalogSourcesUnhealthy:    {"look on the member at the CatalogSource that the message names, or at all of them, and their pods: OLM resolves nothing while a catalog does not answer", ""},
	requirementsNotMet:         {"give the member what the message names: a newer Kubernetes, a CRD or a permission; or choose another version of the operator", ""},
	resolutionFailed:           {"correct package, channel or version of the Subscription, or the catalog, as OLM's message says", ""},
	bundleUnpackFailed:         {"look on the member at the Job that unpacks the bundle; mostly its image cannot be pulled", ""},
	provisioningFailed:         {"look on the member at the provisioner that the message names", ""},
	failedCreate:               {"correct what the message names: a quota, a policy, a webhook or a missing ServiceAccount", ofObjects},
	unschedulable:              {"add nodes that the pod fits, mend its claim, or change its requests, tolerations or node selector", ofObjects},
	imagePullBackOff:           {"check name and tag of the image, the pull secret, and that the nodes reach the registry", ofObjects},
	createContainerConfigError: {"add the ConfigMap, Secret or key that the message names to the wrapper, or correct the security context", ofObjects},
	oomKilled:                  {"raise the memory limit of the container, or let it use less; without a limit, look at the memory of the node", ofObjects},
	crashLoopBackOff: {
		"run `hostctl logs $WRAPPER`; if the container runs again at the moment, add `--previous`; with exit code 0, the program ends where it has to run on", ofObjects},
	createContainerError:   {"see on the member what the kubelet says about the container, and correct its command, mounts or security context", ofObjects},
	runContainerError:      {"see on the member what the kubelet says about the container, and correct its command, mounts or security context", ofObjects},
	invalidImageName:       {"correct the name of the image", ofObjects},
	errImageNeverPull:      {"put the image on the nodes of the member, or change the imagePullPolicy", ofObjects},
	failedMount:            {"see what the message says about the volume: a claim, a ConfigMap or a Secret", ofObjects},
	evicted:                {"give the node more of what the message names, or let the pod use less", ofObjects},
	podFailed:              {"mend what the message names, then delete the pod or the Job on the member: the manager makes it again", ofObjects},
	containerError:         {"mend what the message names, then delete the pod or the Job on the member: the manager makes it again", ofObjects},
	failedAttachVolume:     {"look on the member at the VolumeAttachment and the CSI driver: another node may still have the volume", ofObjects},
	failedCreatePodSandBox: {"look at the network plugin and the container runtime of the node", ofObjects},
	postStartHookError:     {"correct the postStart hook of the container", ofObjects},
	schedulingGated:        {"find the controller that removes the scheduling gate of the pod", ofObjects},
	podNotReady:            {"mend what the message names: the readiness probe, what an init container waits for, a readiness gate, or the node", ofObjects},
	backoffLimitExceeded:   {"read the logs of the Job's pods on the member; a Job that failed has to be made again", ""},
}
