package access

import (
	"net/url"
	"regexp"
	"slices"
)

// Login is how users of the web UI log in at an issuer: by the authorization code flow with PKCE. The page of the
// UI is a public client, so there is no secret.
type Login struct {
	Issuer string `json:"issuer"`
	// ClientID is the client ID of the web UI.
	ClientID string `json:"clientID"`
	// Scopes are the scopes that the page requests.
	Scopes []string `json:"scopes"`
	// Audience is empty if tokens are for the client itself: the page then sends the ID token to the archive.
	// Otherwise, the page requests an access token for this audience.
	Audience string `json:"audience,omitempty"`
}

// defaultScopes are for issuers that need no scope for groups.
var defaultScopes = []string{"openid", "profile"}

var (
	// scopePattern is scope-token of RFC 6749, and clientPattern its client_id without spaces.
	scopePattern  = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]+$`)
	clientPattern = regexp.MustCompile(`^[\x21-\x7e]+$`)
	// hostPattern is what a Content-Security-Policy can name.
	hostPattern = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`)
)

// parseLogin reads the field login of the field jwt.
func parseLogin(n node, j *JWT) (*Login, error) {
	fields, err := n.fields("clientID", "scopes")
	if err != nil {
		return nil, err
	}
	l := &Login{Issuer: j.Issuer, ClientID: j.Audience, Scopes: defaultScopes}
	if err := setText(fields, "clientID", &l.ClientID); err != nil {
		return nil, err
	}
	if !clientPattern.MatchString(l.ClientID) {
		return nil, n.errorf("the client ID %q has spaces, or other characters than those of ASCII", l.ClientID)
	}
	if l.ClientID != j.Audience {
		l.Audience = j.Audience
	}
	if list, has := fields["scopes"]; has {
		if l.Scopes, err = parseScopes(list); err != nil {
			return nil, err
		}
	}
	if u, err := url.Parse(j.Issuer); err != nil || !hostPattern.MatchString(u.Host) {
		return nil, n.errorf("the host in the issuer %q must be a name or an IPv4 address: browsers let a page connect to no other hosts", j.Issuer)
	}
	return l, nil
}

// maxScopes bounds the scopes of a login. They are part of a URL.
const maxScopes = 20

func parseScopes(n node) ([]string, error) {
	scopes, err := n.texts()
	if err != nil {
		return nil, err
	}
	if len(scopes) > maxScopes {
		return nil, n.errorf("it has %d elements, and may have at most %d", len(scopes), maxScopes)
	}
	for _, s := range scopes {
		if !scopePattern.MatchString(s) {
			return nil, n.errorf("%.50q is not a scope; each element is one scope, without spaces, quotes and backslashes", s)
		}
	}
	if !slices.Contains(scopes, "openid") {
		return nil, n.errorf("the scope openid is missing; without it, an issuer gives no ID token")
	}
	return scopes, nil
}

// Origin returns the origin of the issuer, such as https://login.example.org. It is empty if l is nil.
func (l *Login) Origin() string {
	if l == nil {
		return ""
	}
	u, err := url.Parse(l.Issuer)
	if err != nil {
		panic("BUG: " + err.Error()) // parseLogin has parsed it
	}
	return u.Scheme + "://" + u.Host
}

// Login returns how users of the web UI log in. It returns nil if they cannot.
func (a *Access) Login() *Login {
	if a == nil {
		return nil
	}
	return a.login
}
