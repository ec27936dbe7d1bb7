// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SystemNamespace is the namespace of Fairlead's own objects, on the host and on members. Fairlead federates no object
// into it.
const SystemNamespace = "fairlead-system"

// FieldManager is the field manager of the host's pushes.
const FieldManager = "fairlead"

// The marks of every pushed object. An object belongs to a wrapper if LabelUID has the wrapper's uid and
// AnnotationObject names this very object. The label alone is no proof: controllers copy labels to children.
const (
	// LabelUID is the uid of the wrapper. Clients select by this label.
	LabelUID = Group + "/uid"
	// AnnotationWrapper is federated/<namespace>/<name> or clusterfederated/<name>.
	AnnotationWrapper = Group + "/wrapper"
	// AnnotationObject is <resource>.<group>/<namespace>/<name> of the object itself.
	AnnotationObject = Group + "/object"
	// AnnotationRendering is the digest of this object's rendering without the marks.
	AnnotationRendering = Group + "/rendering"
	// AnnotationAdopted is only on adopted objects, and has the value of AnnotationObject. The inventory of the Delivery
	// records an adoption too, but a member whose CRD of Deliveries is older than the host's can lose that record.
	AnnotationAdopted = Group + "/adopted"
	// AnnotationTargetCSV is only on Subscriptions that spec.upgrade names: the CSV that the manager approves InstallPlans up to.
	// The collector judges the Subscription by it. It is part of the rendering, not of the marks.
	AnnotationTargetCSV = Group + "/target-csv"
)

// Labels and annotations that people set on objects and namespaces.
const (
	// AnnotationKeep set to "true" keeps an object under every onDelete policy. Set to "false", KeepData deletes the
	// object.
	AnnotationKeep = Group + "/keep"
	// AnnotationReplace set to "true" lets the manager delete and re-create an object if a change touches an immutable
	// field.
	AnnotationReplace = Group + "/replace"
	// LabelOpen set to "true" on a member's namespace opens it to pushes.
	LabelOpen = Group + "/open"
	// LabelMade set to "true" marks a namespace that Fairlead created.
	LabelMade = Group + "/made"
	// LabelAggregateToHost on a ClusterRole of a member adds its rules to the host's rights there.
	LabelAggregateToHost = Group + "/aggregate-to-host"
	// LabelAggregateToCollector on a ClusterRole of a member adds its rules to the collector's rights there.
	LabelAggregateToCollector = Group + "/aggregate-to-collector"
)

// AnnotationVersion is, on the CRDs of a member, the version of the hostctl that applied them.
const AnnotationVersion = Group + "/version"

// AdmissionPolicy is the name of the ValidatingAdmissionPolicy, and of its binding, with which a member keeps the
// host's account out of namespaces that are not open.
const AdmissionPolicy = "fairlead-host"

// Finalizer is on every wrapper and every MemberCluster. When one of them is deleted, the manager first finishes on the
// members, and then removes the finalizer.
const Finalizer = Group + "/members"

// SecretTypeMember is the type of a Secret that holds a member's credentials.
const SecretTypeMember = Group + "/member"

// The keys of a Secret of SecretTypeMember. The first five name the MemberCluster and the connection that the
// credentials are for. The manager uses the credentials for no other member and no other connection. A Secret without
// SecretCluster is for the member of its own name. The user and password of the proxy are only here.
const (
	SecretCluster       = "cluster"
	SecretEndpoint      = "endpoint"
	SecretCA            = "ca.crt"
	SecretTLSServerName = "tlsServerName"
	SecretProxyURL      = "proxyURL"
	SecretToken         = "token"
	SecretCert          = "tls.crt"
	SecretKey           = "tls.key"
	// SecretCollectorToken is the token of the account that a collector inside the manager uses on the member. A member
	// that an earlier version joined has no such token; the collector then uses the host's credentials.
	SecretCollectorToken = "collectorToken"
	// SecretSuperseded lists the Secrets on the member that replaced tokens are bound to, as NAME/UID, one a line. The
	// manager deletes them, which revokes those tokens.
	SecretSuperseded = "superseded"
)

// LabelContent is on every ControllerRevision of a wrapper: ContentPlain, or the encryption and the id of its key. A
// revision without the label comes from a version that encrypted none.
const (
	LabelContent = Group + "/content"
	ContentPlain = "plain"
)

// HistorySecret is the Secret in fairlead-system of the host with the key, under SecretHistoryKey, that encrypts
// revisions with a Secret in them. The manager creates it at its first start. It belongs in the host's backups. No
// Secret with credentials has this name: a member's name has no dot.
const (
	HistorySecret    = "history.key"
	SecretHistoryKey = "key"
)

// SealSecret is the Secret in fairlead-system of the host with the key, under SecretSealKey, that seals Deliveries. The
// manager creates it at its first start. It belongs in the host's backups.
const (
	SealSecret    = "seal"
	SecretSealKey = "key"
)
