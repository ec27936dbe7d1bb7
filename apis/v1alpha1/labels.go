// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SystemNamespace is where Fairlead keeps its own things, on the host and on members. Nothing is
// federated into it.
const SystemNamespace = "fairlead-system"

// FieldManager is the name that the host pushes under.
const FieldManager = "fairlead"

// The marks of every pushed object. An object is a wrapper's own when LabelUID names that wrapper and
// AnnotationObject names this very object; labels alone get copied to children by controllers.
const (
	// LabelUID carries the uid of the wrapper. Selection is by this label.
	LabelUID = Group + "/uid"
	// AnnotationWrapper carries federated/<namespace>/<name> or clusterfederated/<name>.
	AnnotationWrapper = Group + "/wrapper"
	// AnnotationObject carries <resource>.<group>/<namespace>/<name> of the object itself.
	AnnotationObject = Group + "/object"
	// AnnotationRendering carries the digest of this object's rendering before the marks.
	AnnotationRendering = Group + "/rendering"
)

// What people write on objects and namespaces.
const (
	// AnnotationKeep set to "true" keeps an object whatever onDelete says; "false" takes it out of
	// what KeepData keeps.
	AnnotationKeep = Group + "/keep"
	// AnnotationReplace set to "true" lets an object be deleted and made again where an immutable field
	// has changed.
	AnnotationReplace = Group + "/replace"
	// LabelOpen set to "true" on a member's namespace opens it to pushes.
	LabelOpen = Group + "/open"
	// LabelMade set to "true" marks a namespace that Fairlead made.
	LabelMade = Group + "/made"
	// LabelAggregateToHost on a member's ClusterRole adds its rules to what the host may do there.
	LabelAggregateToHost = Group + "/aggregate-to-host"
	// LabelAggregateToCollector on a member's ClusterRole adds its rules to what the collector may read.
	LabelAggregateToCollector = Group + "/aggregate-to-collector"
)

// AdmissionPolicy is the name of the ValidatingAdmissionPolicy, and of its binding, by which a member itself keeps the host's
// account out of namespaces that are not open to it.
const AdmissionPolicy = "fairlead-host"

// Finalizer is on every wrapper and MemberCluster until members have been left in order.
const Finalizer = Group + "/members"

// SecretTypeMember is the type of a Secret that holds a member's credentials.
const SecretTypeMember = Group + "/member"

// The keys of a Secret of SecretTypeMember. The first five say for which MemberCluster the credentials are, and for which
// connection to it: they are used for no other member, and sent no other way. A Secret without SecretCluster is for the
// member of its own name. The proxy's user and password stand here alone.
const (
	SecretCluster       = "cluster"
	SecretEndpoint      = "endpoint"
	SecretCA            = "ca.crt"
	SecretTLSServerName = "tlsServerName"
	SecretProxyURL      = "proxyURL"
	SecretToken         = "token"
	SecretCert          = "tls.crt"
	SecretKey           = "tls.key"
	// SecretCollectorToken is the token of the account that a collector inside the manager uses on the member. A member that an
	// earlier version joined has none; the collector then uses the host's credentials.
	SecretCollectorToken = "collectorToken"
	// SecretSuperseded names, one a line, the Secrets on the member that tokens before this one are bound to, as NAME/UID. The
	// manager deletes them, which revokes those tokens.
	SecretSuperseded = "superseded"
)

// LabelContent is on every ControllerRevision of a wrapper: ContentPlain, or the encryption and the id of its key. One
// without is of a version that encrypted none.
const (
	LabelContent = Group + "/content"
	ContentPlain = "plain"
)

// HistorySecret is the Secret in fairlead-system of the host that holds, as SecretHistoryKey, the key that revisions with
// a Secret in them are encrypted with. The manager makes it at its first start; it belongs into the host's backups. No
// member's credentials can be called so: a member's name has no dot.
const (
	HistorySecret    = "history.key"
	SecretHistoryKey = "key"
)

// SealSecret is the Secret in fairlead-system of the host that holds, as SecretSealKey, the key that
// Deliveries are sealed with. The manager makes it at its first start; it belongs into the host's backups.
const (
	SealSecret    = "seal"
	SecretSealKey = "key"
)
