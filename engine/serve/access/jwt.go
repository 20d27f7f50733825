package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// JWT describes the tokens of an OpenID Connect issuer. They are checked here, with the keys that the
// issuer publishes.
type JWT struct {
	Issuer   string
	Audience string
	// KeysURL is where the keys are. If it is empty, the issuer's discovery document says it.
	KeysURL string
	// CAFile has the CAs of the issuer's server. If it is empty, those of the system decide.
	CAFile string
	// UserClaim and GroupsClaim are the claims with the user and the groups.
	UserClaim, GroupsClaim string
	Algorithms             []jose.SignatureAlgorithm
	// ClockSkew is how far the clocks of the issuer and of this machine may differ.
	ClockSkew time.Duration
	// Login is nil if users of the web UI do not log in at this issuer.
	Login *Login
}

// algorithms are those that a configuration may allow. All of them have public keys: a token that is
// signed with a shared secret, or with nothing, is always refused.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

const (
	defaultSkew = 30 * time.Second
	maxSkew     = 5 * time.Minute
	// maxGroups bounds the groups of an identity, and maxToken the bytes of a token.
	maxGroups = 500
	maxToken  = 16 << 10
)

func parseJWT(n node) (*JWT, error) {
	fields, err := n.fields("issuer", "audience", "keys", "caFile", "userClaim", "groupsClaim", "algorithms", "clockSkew", "login")
	if err != nil {
		return nil, err
	}
	j := &JWT{UserClaim: "sub", GroupsClaim: "groups", Algorithms: []jose.SignatureAlgorithm{jose.RS256, jose.ES256}, ClockSkew: defaultSkew}
	if err := errors.Join(setText(fields, "issuer", &j.Issuer), setText(fields, "audience", &j.Audience), setText(fields, "keys", &j.KeysURL),
		setText(fields, "caFile", &j.CAFile), setText(fields, "userClaim", &j.UserClaim), setText(fields, "groupsClaim", &j.GroupsClaim)); err != nil {
		return nil, err
	}
	if v, has := fields["clockSkew"]; has {
		if j.ClockSkew, err = v.duration(maxSkew); err != nil {
			return nil, err
		}
	}
	if v, has := fields["algorithms"]; has {
		if j.Algorithms, err = parseAlgorithms(v); err != nil {
			return nil, err
		}
	}
	if err := j.check(n); err != nil {
		return nil, err
	}
	if v, has := fields["login"]; has {
		j.Login, err = parseLogin(v, j)
	}
	return j, err
}

func parseAlgorithms(n node) (all []jose.SignatureAlgorithm, err error) {
	names, err := n.texts()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.Contains(algorithms, jose.SignatureAlgorithm(name)) {
			return nil, n.errorf("%.50q is not one of %v; keys must be public", name, algorithms)
		}
		all = append(all, jose.SignatureAlgorithm(name))
	}
	if len(all) == 0 {
		return nil, n.errorf("it is empty")
	}
	return all, nil
}

func (j *JWT) check(n node) error {
	switch {
	case j.Issuer == "":
		return n.errorf("the field issuer is missing: the URL in the claim iss of tokens")
	case j.Audience == "":
		return n.errorf("the field audience is missing: the client id of this archive, which the claim aud of tokens names")
	}
	for field, text := range map[string]string{"issuer": j.Issuer, "keys": j.KeysURL} {
		if text == "" {
			continue
		}
		if err := checkURL(text); err != nil {
			return n.errorf("the field %s: %w", field, err)
		}
	}
	return nil
}

// checkURL refuses URLs from which keys could be forged on the way.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is not a URL like https://login.example.org/realms/lab", text)
	}
	if u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%q must begin with https", text)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// jwtVerifier checks the tokens of one issuer.
type jwtVerifier struct {
	cfg  *JWT
	keys *keySet
	now  func() time.Time
}

// identify returns the identity of a token. It fetches no keys for a token of another issuer.
func (v *jwtVerifier) identify(ctx context.Context, text string) (Identity, error) {
	if strings.Count(text, ".") != 2 {
		return Identity{}, errNotMine
	}
	token, err := jwt.ParseSigned(text, v.cfg.Algorithms)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: it is not a token with one of the algorithms %v", errNotMine, v.cfg.Algorithms)
	}
	var unsafe jwt.Claims
	if token.UnsafeClaimsWithoutVerification(&unsafe) != nil || unsafe.Issuer != v.cfg.Issuer {
		return Identity{}, errNotMine
	}
	key, err := v.keys.find(ctx, token.Headers[0].KeyID, token.Headers[0].Algorithm)
	if err != nil {
		return Identity{}, err
	}
	var claims jwt.Claims
	var more map[string]any
	if token.Claims(key, &claims, &more) != nil {
		return Identity{}, errors.New("the signature of the token is wrong")
	}
	if err := v.check(&claims); err != nil {
		return Identity{}, err
	}
	return v.identity(more)
}

// check checks the claims of a token whose signature is right.
func (v *jwtVerifier) check(c *jwt.Claims) error {
	if c.Expiry == nil {
		return errors.New("the token has no expiry, the claim exp")
	}
	err := c.ValidateWithLeeway(jwt.Expected{Issuer: v.cfg.Issuer, AnyAudience: jwt.Audience{v.cfg.Audience}, Time: v.now()}, v.cfg.ClockSkew)
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return fmt.Errorf("the token expired at %s; log in again", c.Expiry.Time().UTC().Format(time.RFC3339))
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return fmt.Errorf("the token is not valid yet; the clocks of the issuer and of the archive may differ by %v", v.cfg.ClockSkew)
	case errors.Is(err, jwt.ErrInvalidAudience):
		return fmt.Errorf("the token is for another audience than %s", v.cfg.Audience)
	}
	return err
}

// identity returns the user and the groups in the claims of a token.
func (v *jwtVerifier) identity(claims map[string]any) (Identity, error) {
	user, _ := claims[v.cfg.UserClaim].(string)
	if user == "" || len(user) > maxWords {
		return Identity{}, fmt.Errorf("the token has no user, a text in the claim %s", v.cfg.UserClaim)
	}
	id := Identity{User: user, Method: "jwt"}
	switch groups := claims[v.cfg.GroupsClaim].(type) {
	case string:
		id.Groups = []string{groups}
	case []any:
		if len(groups) > maxGroups {
			return Identity{}, fmt.Errorf("the token has %d groups, and may have at most %d", len(groups), maxGroups)
		}
		for _, g := range groups {
			if name, is := g.(string); is {
				id.Groups = append(id.Groups, name)
			}
		}
	}
	return id, nil
}
