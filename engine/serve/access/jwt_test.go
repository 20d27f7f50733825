package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"varve.dev/varve/engine/serve/admission"
)

// issuer is an OpenID Connect issuer.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	keys    jose.JSONWebKeySet
	fetched int
	broken  bool
	body    string // instead of the keys, if it is not empty
}

func newIssuer(t *testing.T) *issuer {
	s := &issuer{}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": s.URL, "jwks_uri": s.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fetched++
		switch {
		case s.broken:
			http.Error(w, "no", http.StatusInternalServerError)
		case s.body != "":
			_, _ = w.Write([]byte(s.body))
		default:
			_ = json.NewEncoder(w).Encode(s.keys)
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// rotate replaces the keys by a new one.
func (s *issuer) rotate(t *testing.T, kid string) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.Keys = []jose.JSONWebKey{{Key: key.Public(), KeyID: kid, Algorithm: string(jose.ES256), Use: "sig"}}
	return key
}

func (s *issuer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, kid string, claims ...any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", kid))
	if err != nil {
		t.Fatal(err)
	}
	b := jwt.Signed(signer)
	for _, c := range claims {
		b = b.Claims(c)
	}
	text, err := b.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (s *issuer) verifier(t *testing.T, c *clock) *jwtVerifier {
	t.Helper()
	cfg, err := Parse(fmt.Appendf(nil, "access: [{jwt: {issuer: %q, audience: varve}}]", s.URL))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := newKeySet(cfg.Authenticators[0].JWT, c.now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(keys.client.CloseIdleConnections)
	return &jwtVerifier{cfg.Authenticators[0].JWT, keys, c.now}
}

// claims are those of a valid token.
func (s *issuer) claims(c *clock) jwt.Claims {
	return jwt.Claims{Issuer: s.URL, Subject: "ann", Audience: jwt.Audience{"other", "varve"}, Expiry: jwt.NewNumericDate(c.at.Add(time.Hour))}
}

// TestTokensOfAnIssuer checks which tokens give an identity.
func TestTokensOfAnIssuer(t *testing.T) {
	s, c := newIssuer(t), newClock()
	key, foreign := s.rotate(t, "k1"), newIssuer(t).rotate(t, "k1")
	v := s.verifier(t, c)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*jwt.Claims)) jwt.Claims {
		claims := s.claims(c)
		change(&claims)
		return claims
	}
	groups := map[string]any{"groups": []any{"vacuum", 7, "staff"}}
	good := sign(t, jose.ES256, key, "k1", s.claims(c), groups)
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"k1"}`)) + "." + parts[1] + "."
	at := func(d time.Duration) *jwt.NumericDate { return jwt.NewNumericDate(c.at.Add(d)) }
	for _, x := range []struct{ name, token, want string }{
		{"good", good, ""},
		{"expired within the skew", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.Expiry = at(-29 * time.Second) })), ""},
		{"expired", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.Expiry = at(-31 * time.Second) })), "the token expired at 2025-12-31T23:59:29Z"},
		{"without expiry", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.Expiry = nil })), "no expiry"},
		{"not yet valid", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.NotBefore = at(31 * time.Second) })), "not valid yet"},
		{"nearly valid", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.NotBefore = at(29 * time.Second) })), ""},
		{"of the future", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.IssuedAt = at(time.Minute) })), "not valid yet"},
		{"wrong audience", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.Audience = jwt.Audience{"other"} })), "another audience than varve"},
		{"without audience", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.Audience = nil })), "another audience than varve"},
		{"wrong issuer", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.Issuer += "/" })), "not known"},
		{"without user", sign(t, jose.ES256, key, "k1", with(func(j *jwt.Claims) { j.Subject = "" })), "no user"},
		{"foreign key", sign(t, jose.ES256, foreign, "k1", s.claims(c)), "signature of the token is wrong"},
		{"unknown key", sign(t, jose.ES256, foreign, "k2", s.claims(c)), "a key that its issuer does not publish"},
		{"none", none, "not known"},
		{"HS256 with the public key", sign(t, jose.HS256, public, "k1", s.claims(c)), "not known"},
		{"changed claims", parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf(`{"iss":%q,"sub":"eve","aud":"varve","exp":9999999999}`, s.URL))) + "." + parts[2], "signature of the token is wrong"},
		{"without signature", parts[0] + "." + parts[1] + ".", "signature of the token is wrong"},
		{"malformed", "a.b.c", "not known"},
		{"not a JWT", "varve_abc", "not known"},
	} {
		id, err := v.identify(t.Context(), x.token)
		switch {
		case x.want == "" && (err != nil || id.User != "ann" || id.Method != "jwt"):
			t.Errorf("%s: %v, %v", x.name, id, err)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want) || id.User != ""):
			t.Errorf("%s: %v, %v, want %s", x.name, id, err, x.want)
		}
	}
	if id, err := v.identify(t.Context(), good); err != nil || !slices.Equal(id.Groups, []string{"vacuum", "staff"}) {
		t.Errorf("the groups are %q, %v", id.Groups, err)
	}
}

// TestKeysAreRotatedWhileReadersRead checks that new keys count at once, old ones end, and unknown keys
// do not cause more fetches than allowed.
func TestKeysAreRotatedWhileReadersRead(t *testing.T) {
	s, c := newIssuer(t), newClock()
	v := s.verifier(t, c)
	first := sign(t, jose.ES256, s.rotate(t, "k1"), "k1", s.claims(c))
	check := func(when, token, want string, fetched int) {
		t.Helper()
		_, err := v.identify(t.Context(), token)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", when, err, want)
		}
		if s.set(func() {}); s.fetched != fetched {
			t.Errorf("%s: the keys were fetched %d times, want %d", when, s.fetched, fetched)
		}
	}
	check("first token", first, "", 1)
	key := s.rotate(t, "k2")
	second := sign(t, jose.ES256, key, "k2", s.claims(c))
	check("new key, a moment after a fetch", second, "does not publish", 1)
	c.advance(fetchEvery)
	check("new key", second, "", 2)
	check("old key, which is no longer published", first, "does not publish", 2)
	for i := range 100 {
		kid := fmt.Sprint("flood", i)
		check("flood", sign(t, jose.ES256, key, kid, s.claims(c)), "does not publish", 2)
	}
	c.advance(keysFresh)
	s.set(func() { s.broken = true })
	check("issuer away", second, "", 3)
	check("issuer away, a moment later", second, "", 3)
	c.advance(keysStale)
	claims := s.claims(c)
	check("issuer away for a day", sign(t, jose.ES256, key, "k2", claims), "cannot be checked now", 4)
	c.advance(fetchEvery)
	s.set(func() { s.broken = false })
	check("issuer back", sign(t, jose.ES256, key, "k2", claims), "", 5)
}

// TestWrongKeysAreRefused checks answers of an issuer that are too large, or have no public keys.
func TestWrongKeysAreRefused(t *testing.T) {
	for name, body := range map[string]string{
		"large":   `{"keys":[],"x":"` + strings.Repeat("x", maxKeysBytes) + `"}`,
		"many":    `{"keys":[` + strings.Repeat("{},", maxKeys) + `{}]}`,
		"none":    `{"keys":[]}`,
		"secret":  `{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"k1"}]}`,
		"no JSON": "<html>",
	} {
		s, c := newIssuer(t), newClock()
		token := sign(t, jose.ES256, s.rotate(t, "k1"), "k1", s.claims(c))
		s.set(func() { s.body = body })
		v := s.verifier(t, c)
		if _, err := v.identify(t.Context(), token); !errors.Is(err, errUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// stuck is a transport whose requests end when it is closed.
type stuck chan struct{}

// RoundTrip implements http.RoundTripper.
func (s stuck) RoundTrip(*http.Request) (*http.Response, error) {
	<-s
	return nil, errors.New("no answer")
}

// TestFewRequestsWaitForKeys checks that a client whose tokens have unknown keys, while the issuer does not
// answer, gets few places to wait, and that a client that disconnects does not wait.
func TestFewRequestsWaitForKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, err := newKeySet(&JWT{Issuer: "https://login.example.org"}, time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		issuer := make(stuck)
		keys.client.Transport = issuer
		slow := admission.WithClient(t.Context(), "slow")
		errs := make(chan error, 10*maxWaiting)
		for range 10 * maxWaiting {
			go func() {
				_, err := keys.find(slow, "junk", "ES256")
				errs <- err
			}()
		}
		synctest.Wait()
		if n := len(errs); n != 10*maxWaiting-waitingShare {
			t.Errorf("%d requests of a client got an answer at once, want all but %d", n, waitingShare)
		}
		other, disconnect := context.WithCancel(admission.WithClient(t.Context(), "other"))
		gone := make(chan error)
		go func() {
			_, err := keys.find(other, "k1", "ES256")
			gone <- err
		}()
		synctest.Wait()
		disconnect()
		if err := <-gone; !errors.Is(err, context.Canceled) || !errors.Is(err, errUnavailable) {
			t.Errorf("a client that disconnects gets %v", err)
		}
		close(issuer)
		for range 10 * maxWaiting {
			if err := <-errs; !errors.Is(err, errUnavailable) {
				t.Errorf("without keys, a request gets %v", err)
			}
		}
	})
}
