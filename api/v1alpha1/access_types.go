package v1alpha1

// RetrievalAccess says who may read which PVs. Its fields are those of the file of `varve retrieval
// --access`.
//
// +kubebuilder:validation:XValidation:rule="self.authenticators.filter(a, has(a.anonymous)).size() <= 1 && self.authenticators.filter(a, has(a.networks)).size() <= 1 && self.authenticators.filter(a, has(a.kubernetes)).size() <= 1",fieldPath=".authenticators",message="authenticators may have anonymous, networks and kubernetes at most once each"
// +kubebuilder:validation:XValidation:rule="self.authenticators.filter(a, has(a.jwt) && has(a.jwt.login)).size() <= 1",fieldPath=".authenticators",message="only one authenticator may have jwt.login: users of the web UI can log in at one issuer"
// +kubebuilder:validation:XValidation:rule="!self.authenticators.exists(a, has(a.trustedProxy)) || (has(self.tls) && has(self.tls.clientCASecretRef))",fieldPath=".tls",message="trustedProxy requires tls.clientCASecretRef: Varve knows the proxy by its certificate"
// +kubebuilder:validation:XValidation:rule="!has(self.readers) || has(self.default)",fieldPath=".default",message="readers require default, which says who may read all other PVs: {everybody: true}, {nobody: true}, or groups and users"
type RetrievalAccess struct {
	// authenticators find out who sends a request. They are tried in order, but a token counts
	// before everything else. [{anonymous: {}}] lets everybody read.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Authenticators []Authenticator `json:"authenticators,omitempty"`
	// readers say who may read the PVs that they name. If several match a PV, one that admits the
	// reader is enough. Default: everybody whom an authenticator accepts may read every PV.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Readers []ReaderRule `json:"readers,omitempty"`
	// default says who may read the PVs that no rule of readers names.
	// +optional
	Default *DefaultReaders `json:"default,omitempty"`
	// tls encrypts the connections of readers. The Service then has port 443 instead of 80.
	// +optional
	TLS *RetrievalTLS `json:"tls,omitempty"`
	// hosts are further names under which clients reach the archive, such as the host of an Ingress.
	// The names of the Service always count.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$`
	Hosts []string `json:"hosts,omitempty"`
	// origins are other web sites whose pages may read from a browser, such as
	// https://grafana.example.org.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?$`
	Origins []string `json:"origins,omitempty"`
	// audit is where each request is noted: None (the default), or Stderr, the log of the pods.
	// +optional
	Audit AuditMode `json:"audit,omitempty"`
}

// AuditMode is where requests are noted.
//
// +kubebuilder:validation:Enum=None;Stderr
type AuditMode string

// Audit modes.
const (
	AuditNone   AuditMode = "None"
	AuditStderr AuditMode = "Stderr"
)

// AccessName is the name of a user, a group or a PV, or a pattern of PVs.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule="bytes(self).size() <= 256",message="names have at most 256 bytes"
type AccessName string

// Authenticator finds out who sends a request.
//
// +kubebuilder:validation:ExactlyOneOf=anonymous;tokens;networks;jwt;kubernetes;trustedProxy
type Authenticator struct {
	// anonymous accepts everybody, as the user anonymous.
	// +optional
	Anonymous *AnonymousAccess `json:"anonymous,omitempty"`
	// tokens accepts tokens of `varve token create`.
	// +optional
	Tokens *TokenAccess `json:"tokens,omitempty"`
	// networks accepts clients by the address of their connection. The first network with the
	// address decides.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	Networks []NetworkAccess `json:"networks,omitempty"`
	// jwt accepts tokens of an OpenID Connect issuer.
	// +optional
	JWT *JWTAccess `json:"jwt,omitempty"`
	// kubernetes accepts tokens that the API server accepts. The service account of the pods needs
	// the right to create TokenReviews, which the operator cannot grant.
	// +optional
	Kubernetes *KubernetesAccess `json:"kubernetes,omitempty"`
	// trustedProxy accepts the headers of a proxy, which has checked the client.
	// +optional
	TrustedProxy *ProxyAccess `json:"trustedProxy,omitempty"`
}

// AnonymousAccess accepts everybody.
type AnonymousAccess struct {
	// groups are the groups of everybody.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Groups []AccessName `json:"groups,omitempty"`
}

// TokenAccess accepts tokens of `varve token create`.
type TokenAccess struct {
	// secretRef names a Secret with the key tokens: lines that `varve token create` prints. Pods
	// read it again when it changes.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
}

// NetworkAccess accepts clients in a network.
type NetworkAccess struct {
	// cidr is the network, such as 10.1.0.0/16.
	// +required
	CIDR CIDR `json:"cidr,omitempty"`
	// groups are the groups of the clients.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Groups []AccessName `json:"groups,omitempty"`
}

// JWTAccess accepts tokens of an OpenID Connect issuer.
//
// +kubebuilder:validation:XValidation:rule="!has(self.login) || has(self.login.clientID) || self.audience.matches('^[!-~]+$')",fieldPath=".login",message="login requires clientID, because the audience has spaces, or other characters than those of ASCII"
type JWTAccess struct {
	// issuer is the URL of the issuer, in the claim iss of tokens.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~!$&'()*+,;=:@/-]*)?$`
	Issuer string `json:"issuer,omitempty"`
	// audience is the client ID of the archive, in the claim aud of tokens.
	// +required
	Audience AccessName `json:"audience,omitempty"`
	// keys is the URL of the issuer's keys. Default: the URL in the issuer's discovery document.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~!$&'()*+,;=:@/-]*)?$`
	Keys string `json:"keys,omitempty"`
	// caSecretRef names a Secret with the key ca.crt, the authority that signed the certificate of
	// the issuer's server. Default: the system's authorities.
	// +optional
	CASecretRef *SecretReference `json:"caSecretRef,omitempty"`
	// userClaim is the claim with the user. Default: sub.
	// +optional
	UserClaim AccessName `json:"userClaim,omitempty"`
	// groupsClaim is the claim with the groups. Default: groups.
	// +optional
	GroupsClaim AccessName `json:"groupsClaim,omitempty"`
	// algorithms are the signatures to accept. Default: RS256 and ES256.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:Enum=RS256;RS384;RS512;PS256;PS384;PS512;ES256;ES384;ES512;EdDSA
	// +kubebuilder:validation:items:MaxLength=5
	Algorithms []string `json:"algorithms,omitempty"`
	// clockSkew is how far the clocks of the issuer and of the archive may differ. Default: 30s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,2}s|[12][0-9]{2}s|300s|[0-5]m)$')",message="clockSkew must be at most 5m, such as 30s"
	ClockSkew Duration `json:"clockSkew,omitempty"`
	// login lets users of the web UI log in at this issuer. {} uses the audience as the client ID.
	// Register the client as public, with the redirect URL https://NAME-OF-THE-ARCHIVE/login.
	// +optional
	Login *LoginAccess `json:"login,omitempty"`
}

// LoginAccess says how users of the web UI log in at an OpenID Connect issuer.
type LoginAccess struct {
	// clientID is the ID of the public client. With another ID than the audience, the web UI sends
	// access tokens for the audience instead of ID tokens. Default: the audience.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	ClientID string `json:"clientID,omitempty"`
	// scopes are the scopes to request, with openid among them. Default: openid and profile.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^[!#-\[\]-~]+$`
	// +kubebuilder:validation:XValidation:rule="'openid' in self",message="scopes must contain openid: without it, an issuer gives no ID token"
	Scopes []string `json:"scopes,omitempty"`
}

// KubernetesAccess accepts tokens that the API server accepts.
type KubernetesAccess struct {
	// audience is the audience that tokens must have. Default: that of the API server.
	// +optional
	Audience AccessName `json:"audience,omitempty"`
}

// ProxyAccess accepts the headers of a proxy with a client certificate.
type ProxyAccess struct {
	// certificate is a DNS name or a URI in the certificate of the proxy, or its whole subject.
	// +required
	Certificate AccessName `json:"certificate,omitempty"`
	// userHeader is the header with the user. Default: X-Forwarded-User.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	UserHeader string `json:"userHeader,omitempty"`
	// groupsHeader is the header with the groups, separated by commas. Default:
	// X-Forwarded-Groups.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	GroupsHeader string `json:"groupsHeader,omitempty"`
}

// ReaderRule says who may read some PVs.
//
// +kubebuilder:validation:XValidation:rule="(has(self.everybody) && self.everybody) || has(self.groups) || has(self.users)",message="a rule of readers requires groups, users or everybody: true"
type ReaderRule struct {
	// pvs are names and globs of PVs, such as SR:VAC:*. A rule for a record holds for its fields, too.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(p, p.matches('^[^ ]+$') && !p.startsWith('ca://') && !p.startsWith('pva://') && !p.endsWith('.VAL') && !p.endsWith('.*'))",message="write names of PVs without ca://, pva://, .VAL, .* and spaces: a rule for a record holds for its fields, too"
	// +kubebuilder:validation:XValidation:rule="self.all(p, p.matches('[*?]') || !p.matches('[-:_/.]$'))",message="a name that ends in ':', '-', '_', '/' or '.' is one PV: write * at its end for all PVs that begin so"
	PVs []AccessName `json:"pvs,omitempty"`
	// everybody means everybody whom an authenticator accepts.
	// +optional
	Everybody bool `json:"everybody,omitempty"`
	// groups are groups of readers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Groups []AccessName `json:"groups,omitempty"`
	// users are readers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Users []AccessName `json:"users,omitempty"`
}

// DefaultReaders says who may read the PVs that no rule of readers names.
//
// +kubebuilder:validation:XValidation:rule="[has(self.everybody) && self.everybody, has(self.nobody) && self.nobody, has(self.groups) || has(self.users)].exists_one(c, c)",message="default must be {everybody: true}, {nobody: true}, or have groups or users"
type DefaultReaders struct {
	// everybody means everybody whom an authenticator accepts.
	// +optional
	Everybody bool `json:"everybody,omitempty"`
	// nobody may read these PVs.
	// +optional
	Nobody bool `json:"nobody,omitempty"`
	// groups are groups of readers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Groups []AccessName `json:"groups,omitempty"`
	// users are readers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Users []AccessName `json:"users,omitempty"`
}

// RetrievalTLS encrypts the connections of readers.
type RetrievalTLS struct {
	// secretRef names a Secret with the keys tls.crt and tls.key. Pods read it again for each
	// connection.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
	// clientCASecretRef names a Secret with the key ca.crt, the authority that signed the client
	// certificate of a trusted proxy.
	// +optional
	ClientCASecretRef *SecretReference `json:"clientCASecretRef,omitempty"`
}
