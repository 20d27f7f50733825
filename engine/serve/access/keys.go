package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"varve.dev/varve/engine/serve/admission"
)

const (
	// keysFresh is how long keys are used before they are fetched again, and keysStale how long they
	// are used if they cannot be fetched.
	keysFresh = 10 * time.Minute
	keysStale = 24 * time.Hour
	// fetchEvery is the shortest time between two tries to fetch keys, whatever tokens clients send.
	fetchEvery   = 20 * time.Second
	fetchTimeout = 10 * time.Second
	maxKeysBytes = 1 << 20
	maxKeys      = 100
)

// errUnavailable means that a token cannot be judged now.
var errUnavailable = errors.New("the token cannot be checked now")

// keySet is the keys of an issuer, fetched when they are needed:
//
//	find(kid) ─▶ in the cache, and fresh ─▶ key
//	             otherwise: fetch, at most every 20 s ─▶ key, or refusal
//
// One request fetches at a time. The others use the known keys, or wait if their key is not among them. Beyond
// maxWaiting, requests get 429 instead of waiting.
type keySet struct {
	issuer, url string
	client      *http.Client
	now         func() time.Time
	log         *slog.Logger

	current atomic.Pointer[fetched]

	waiting *admission.Budget

	// fetching holds an element while a request fetches. That request alone uses the fields below.
	fetching chan struct{}
	tried    time.Time // last try to fetch
	err      error     // of that try
}

type fetched struct {
	jose.JSONWebKeySet
	at time.Time
}

func newKeySet(cfg *JWT, now func() time.Time, log *slog.Logger) (*keySet, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.IdleConnTimeout = 1, time.Minute
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("access: jwt: caFile: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("access: jwt: caFile: %s contains no certificate", cfg.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &keySet{
		issuer: cfg.Issuer, url: cfg.KeysURL, now: now, log: log, waiting: newWaiting(), fetching: make(chan struct{}, 1),
		client: &http.Client{
			Transport: transport, Timeout: fetchTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return errors.New("the issuer redirects, which is not followed")
			},
		},
	}, nil
}

// find returns the key with an id, for an algorithm.
func (s *keySet) find(ctx context.Context, kid, alg string) (*jose.JSONWebKey, error) {
	had := s.current.Load()
	key := had.find(kid, alg)
	age := time.Duration(0)
	if had != nil {
		age = s.now().Sub(had.at)
	}
	switch {
	case key != nil && age < keysFresh:
		return key, nil
	case key != nil && age < keysStale: // one request fetches, and the others do not wait
		select {
		case s.fetching <- struct{}{}:
			s.fetchOnce(ctx)
		default:
		}
	default:
		if err := s.fetchOrWait(ctx); err != nil {
			return nil, err
		}
	}
	return s.fetchedKey(kid, alg)
}

// fetchOrWait fetches the keys, or waits for the request that does so.
func (s *keySet) fetchOrWait(ctx context.Context) error {
	client := admission.ClientOf(ctx)
	if !s.waiting.Take(client, 1) {
		return errTooManyWait
	}
	defer s.waiting.Give(client, 1)
	select {
	case s.fetching <- struct{}{}:
		s.fetchOnce(ctx)
		return nil
	case <-ctx.Done():
		return errors.Join(errUnavailable, ctx.Err())
	}
}

// fetchedKey returns a key after a try to fetch it.
func (s *keySet) fetchedKey(kid, alg string) (*jose.JSONWebKey, error) {
	has := s.current.Load()
	if has == nil || s.now().Sub(has.at) >= keysStale {
		return nil, fmt.Errorf("%w: the keys of its issuer cannot be fetched", errUnavailable)
	}
	if key := has.find(kid, alg); key != nil {
		return key, nil
	}
	return nil, errors.New("the token is signed with a key that its issuer does not publish")
}

// find returns a key for signatures. Without an id, there must be only one key that fits.
func (f *fetched) find(kid, alg string) (found *jose.JSONWebKey) {
	if f == nil {
		return nil
	}
	for i := range f.Keys {
		k := &f.Keys[i]
		if kid != "" && k.KeyID != kid || k.Use == "enc" || k.Algorithm != "" && k.Algorithm != alg {
			continue
		}
		if found != nil {
			return nil
		}
		found = k
	}
	return found
}

// fetchOnce fetches the keys, unless that was tried a moment ago. If it fails, the known keys stay. The
// caller has put an element into fetching.
func (s *keySet) fetchOnce(ctx context.Context) {
	defer func() { <-s.fetching }()
	now := s.now()
	if d := now.Sub(s.tried); d >= 0 && d < fetchEvery {
		return
	}
	s.tried = now
	// The keys are for all requests: a client that disconnects must not make the others wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	keys, err := s.fetch(ctx)
	if err != nil {
		if s.err == nil || s.err.Error() != err.Error() {
			s.log.Warn("the keys of an issuer of tokens cannot be fetched; known keys stay in use", "issuer", s.issuer, "err", err)
		}
		s.err = err
		return
	}
	s.err = nil
	s.current.Store(&fetched{keys, now})
}

// fetch returns the public keys of the issuer.
func (s *keySet) fetch(ctx context.Context) (keys jose.JSONWebKeySet, err error) {
	url := s.url
	if url == "" {
		if url, err = s.discover(ctx); err != nil {
			return keys, err
		}
	}
	var raw struct{ Keys []json.RawMessage }
	if err := s.get(ctx, url, &raw); err != nil {
		return keys, err
	}
	if len(raw.Keys) > maxKeys {
		return keys, fmt.Errorf("%s has %d keys, and may have at most %d", url, len(raw.Keys), maxKeys)
	}
	for _, text := range raw.Keys {
		var k jose.JSONWebKey
		if json.Unmarshal(text, &k) == nil && k.Valid() && k.IsPublic() { // keys of an unknown kind are for others
			keys.Keys = append(keys.Keys, k)
		}
	}
	if len(keys.Keys) == 0 {
		return keys, fmt.Errorf("%s has no usable public key", url)
	}
	return keys, nil
}

// discover returns the URL of the keys from the issuer's discovery document.
func (s *keySet) discover(ctx context.Context) (string, error) {
	url := strings.TrimSuffix(s.issuer, "/") + "/.well-known/openid-configuration"
	var doc struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := s.get(ctx, url, &doc); err != nil {
		return "", err
	}
	if doc.Issuer != s.issuer {
		return "", fmt.Errorf("%s is of the issuer %.200q", url, doc.Issuer)
	}
	if err := checkURL(doc.Keys); err != nil {
		return "", fmt.Errorf("%s: jwks_uri: %w", url, err)
	}
	return doc.Keys, nil
}

// get decodes the JSON at a URL.
func (s *keySet) get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // the decoder decides; it explains web pages
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKeysBytes+1))
	if err != nil {
		return err
	}
	if len(body) > maxKeysBytes {
		return fmt.Errorf("%s has more than %d MiB", url, maxKeysBytes>>20)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: decoding its JSON of type %q: %w", url, kind, err)
	}
	return nil
}
