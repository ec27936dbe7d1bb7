// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SystemNamespace is the namespace of Fairlead's own objects, on the host and on members. Admission refuses a Federated
// in this namespace, so that no author can change Fairlead's own objects through a wrapper.
const SystemNamespace = "fairlead-system"

// FieldManager is the field manager with which the manager applies objects on members.
const FieldManager = "fairlead"

// The marks: labels and annotations that Fairlead sets on pushed objects. An object belongs to a wrapper if LabelUID
// has the uid of the wrapper, and AnnotationObject names the object itself. LabelUID alone proves nothing: controllers
// copy labels to the objects that they create.
const (
	// LabelUID has the uid of the wrapper. Clients list the objects of one wrapper by this label.
	LabelUID = Group + "/uid"
	// AnnotationWrapper names the wrapper: federated/<namespace>/<name> or clusterfederated/<name>.
	AnnotationWrapper = Group + "/wrapper"
	// AnnotationObject names the object on which it is: <resource>.<group>/<namespace>/<name>.
	AnnotationObject = Group + "/object"
	// AnnotationRendering has the digest of the object as the manager rendered it, before it added the marks.
	AnnotationRendering = Group + "/rendering"
	// AnnotationAdopted is on an object that another client created and the manager adopted. Its value is that of
	// AnnotationObject. The Delivery records the adoption too (spec.inventory[].adopted). But if a member has CRDs older
	// than the host's, its API server drops that field, and only this annotation is left.
	AnnotationAdopted = Group + "/adopted"
	// AnnotationTargetCSV has the target of a Subscription that spec.upgrade names: a CSV, or TargetLatest. The collector
	// compares the installed CSV with it. Unlike the marks, it counts towards the digest of the rendering, so a new target
	// is a change that goes out in waves.
	AnnotationTargetCSV = Group + "/target-csv"
)

// AnnotationReinstalls is on a Delivery. It records, for each Subscription, what the last reinstall of its operator removes, and
// when that began (spec.upgrade.rollback: Reinstall). The manager writes it before it removes the first object, and keeps it.
const AnnotationReinstalls = Group + "/reinstalls"

// TargetLatest is the value of AnnotationTargetCSV on a Subscription with approve: Latest, until the manager has taken
// a version for it. It cannot be the name of a CSV, because it has a capital letter.
const TargetLatest = "Latest"

// Labels and annotations that people set on objects and namespaces.
const (
	// AnnotationKeep set to "true" keeps the object on the member, whatever spec.onDelete of the wrapper is. With the
	// value "false", the policy KeepData deletes the object, even if the object holds data.
	AnnotationKeep = Group + "/keep"
	// AnnotationReplace set to "true" lets the manager delete an object and create it again when a change touches an
	// immutable field. Without this annotation, such a change fails.
	AnnotationReplace = Group + "/replace"
	// LabelOpen set to "true" on a namespace of a member lets the host push objects into the namespace.
	LabelOpen = Group + "/open"
	// LabelMade set to "true" marks a namespace of a member that the manager created.
	LabelMade = Group + "/made"
	// LabelAggregateToHost on a ClusterRole of a member adds the rules of the ClusterRole to the host's rights on the
	// member.
	LabelAggregateToHost = Group + "/aggregate-to-host"
	// LabelAggregateToCollector on a ClusterRole of a member adds the rules of the ClusterRole to the collector's rights
	// on the member.
	LabelAggregateToCollector = Group + "/aggregate-to-collector"
)

// AnnotationVersion is on Fairlead's CRDs on a member. Its value is the version of the hostctl that applied the CRDs.
const AnnotationVersion = Group + "/version"

// AdmissionPolicy is the name of a ValidatingAdmissionPolicy on a member, and of its binding. With this policy the
// member's API server refuses writes of the host's account to namespaces that are not open.
const AdmissionPolicy = "fairlead-host"

// Finalizer is on every wrapper and every MemberCluster. When a person deletes a wrapper, the manager first removes the
// wrapper from its members. When a person deletes a MemberCluster, the manager first removes Fairlead from that member.
// Then it removes the finalizer.
const Finalizer = Group + "/members"

// SecretTypeMember is the type of the Secret on the host that holds the credentials for one member.
const SecretTypeMember = Group + "/member"

// The keys in the data of a Secret of type SecretTypeMember.
//
// The first five name the MemberCluster and the connection to its API server. The manager uses the credentials in the
// Secret only for this MemberCluster and this connection. If SecretCluster is absent, the MemberCluster has the name of
// the Secret. SecretProxyURL may contain the user and password of the proxy, which must not be in the MemberCluster.
const (
	SecretCluster       = "cluster"
	SecretEndpoint      = "endpoint"
	SecretCA            = "ca.crt"
	SecretTLSServerName = "tlsServerName"
	SecretProxyURL      = "proxyURL"
	SecretToken         = "token"
	SecretCert          = "tls.crt"
	SecretKey           = "tls.key"
	// SecretCollectorToken has the token with which a collector inside the manager reads the member. The key is absent if
	// an earlier version of hostctl joined the member. The collector then uses the host's own credentials.
	SecretCollectorToken = "collectorToken"
	// SecretSuperseded lists Secrets on the member, one NAME/UID a line. Tokens that the manager has replaced are bound to
	// these Secrets. The manager deletes the Secrets, which revokes the tokens.
	SecretSuperseded = "superseded"
)

// LabelContent is on every ControllerRevision of a wrapper. Its value is ContentPlain if the content is not encrypted,
// or else the algorithm and the id of the key. A ControllerRevision without this label was written by an earlier
// version, and is not encrypted.
const (
	LabelContent = Group + "/content"
	ContentPlain = "plain"
)

// The annotations that name the authors of a wrapper's content: its objects, overrides and upgrade. `hostctl rollout
// history` shows these names.
const (
	// AnnotationAuthor is on wrappers. The mutating webhook writes it: the name of the user who wrote the present content,
	// and an HMAC of that name and the content. The key of the HMAC is in HistorySecret, so no user can make the HMAC for
	// another name. If the HMAC does not fit the present content, the manager ignores the name.
	AnnotationAuthor = Group + "/author"
	// AnnotationWrittenBy is on ControllerRevisions: the name of the user who wrote this content first. It is absent if
	// the manager does not know the user.
	AnnotationWrittenBy = Group + "/written-by"
	// AnnotationRewrittenBy is on ControllerRevisions whose content a user wrote again later, for example by an undo: the
	// name of the last user who wrote it. It is empty if the manager does not know that user.
	AnnotationRewrittenBy = Group + "/rewritten-by"
)

// HistorySecret is the name of a Secret in fairlead-system of the host. Its data field SecretHistoryKey has a key for
// two purposes: to encrypt revisions that contain a Secret, and to sign AnnotationAuthor. The manager creates the
// Secret at its first start. Include it in the host's backups. `hostctl join` names the Secret with a member's
// credentials after the member. The name of a member has no dot, so no such Secret can have this name.
const (
	HistorySecret    = "history.key"
	SecretHistoryKey = "key"
)

// SealSecret is the name of a Secret in fairlead-system of the host. Its data field SecretSealKey has the key with
// which the manager signs Deliveries: the result is the seal of a Delivery. The manager creates the Secret at its first
// start. Include it in the host's backups.
const (
	SealSecret    = "seal"
	SecretSealKey = "key"
)
