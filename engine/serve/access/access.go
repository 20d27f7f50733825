package access

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"varve.dev/varve/engine/serve/admission"
)

// Access identifies requests. Use New.
type Access struct {
	rules   *rules
	bearers []bearer
	clients []client
	proxies []*TrustedProxy // which are among clients
	files   []*tokenFile
	hosts   map[string]bool
	origins map[string]bool
	login   *Login // nil: users of the web UI cannot log in
}

// bearer returns the identity of a token. It returns errNotMine if another authenticator may know it,
// and errUnavailable if the token cannot be judged now.
type bearer func(ctx context.Context, token string) (Identity, error)

// client returns the identity of a request without credentials.
type client func(r *http.Request) (Identity, bool)

// Options are what authenticators need of the process.
type Options struct {
	Now func() time.Time
	Log *slog.Logger
	// Review asks the API server. It is nil outside of a cluster.
	Review Reviewer
	// Hostname is the name of the machine, under which it may be reached.
	Hostname string
}

// New prepares the authenticators of a configuration. It reads the files of tokens.
func New(c *Config, o Options) (*Access, error) {
	a := &Access{rules: &c.rules, hosts: map[string]bool{}, origins: map[string]bool{}, login: c.login()}
	for _, h := range append([]string{"localhost", strings.ToLower(o.Hostname)}, c.Hosts...) {
		a.hosts[h] = true
	}
	for _, origin := range c.Origins {
		a.origins[origin] = true
	}
	for i := range c.Authenticators {
		if err := a.add(&c.Authenticators[i], &o); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *Access) add(c *Authenticator, o *Options) error {
	switch {
	case c.Anonymous != nil:
		id := Identity{User: "anonymous", Groups: c.Anonymous.Groups, Method: "anonymous"}
		a.clients = append(a.clients, func(*http.Request) (Identity, bool) { return id, true })
	case c.Networks != nil:
		a.clients = append(a.clients, func(r *http.Request) (Identity, bool) { return byNetwork(c.Networks, r.RemoteAddr) })
	case c.TrustedProxy != nil:
		a.clients, a.proxies = append(a.clients, c.TrustedProxy.identify), append(a.proxies, c.TrustedProxy)
	case c.Tokens != nil:
		f, err := openTokens(c.Tokens.File, o.Now, o.Log)
		if err != nil {
			return err
		}
		a.files, a.bearers = append(a.files, f), append(a.bearers, f.identify)
	case c.JWT != nil:
		keys, err := newKeySet(c.JWT, o.Now, o.Log)
		if err != nil {
			return err
		}
		a.bearers = append(a.bearers, foreign((&jwtVerifier{c.JWT, keys, o.Now}).identify))
	case c.Kubernetes != nil:
		if o.Review == nil {
			return errors.New("access: kubernetes: this command does not run in a cluster, so there is no API server to review tokens")
		}
		a.bearers = append(a.bearers, foreign(newReviews(c.Kubernetes, o.Review, o.Now).identify))
	}
	return nil
}

// foreign wraps an authenticator so that it gets no tokens that Varve has made. These are secrets, and only
// files of tokens can verify them.
func foreign(identify bearer) bearer {
	return func(ctx context.Context, token string) (Identity, error) {
		if strings.HasPrefix(token, tokenPrefix) {
			return Identity{}, errNotMine
		}
		return identify(ctx, token)
	}
}

const (
	// maxWaiting bounds the requests that wait at a time for a server that verifies tokens, and waitingShare
	// those of one client among them.
	maxWaiting   = 64
	waitingShare = 32
)

func newWaiting() *admission.Budget { return admission.NewBudget(maxWaiting, waitingShare) }

// errTooManyWait means that a token cannot be judged now, because too many others are being judged.
var errTooManyWait = fmt.Errorf("%w: at most %d requests may wait for a check at a time, and at most %d of one client", errUnavailable, maxWaiting, waitingShare)

// Restricts reports whether somebody may not read something.
func (a *Access) Restricts() bool { return !a.rules.open() }

// TakesTokens reports whether a token can identify a client.
func (a *Access) TakesTokens() bool { return len(a.bearers) > 0 }

// Problems returns problems that need attention, such as a file of tokens that is gone.
func (a *Access) Problems() (all []string) {
	for _, f := range a.files {
		all = append(all, f.problems()...)
	}
	return all
}

// Refusal is why a request has no identity. Its text is for the client.
type Refusal struct {
	Code int // HTTP status code
	Text string
}

func (r *Refusal) Error() string { return r.Text }

// Identify returns what a request may read. It returns a *Refusal if nobody knows the client, or if
// its token is wrong.
func (a *Access) Identify(r *http.Request) (*Request, error) {
	id, err := a.identity(r)
	if err != nil {
		return nil, err
	}
	return a.request(id), nil
}

// Visitor returns what a client without credentials may read, for paths that everybody may request.
// It returns nil if nobody knows the client.
func (a *Access) Visitor(r *http.Request) *Request {
	id, found := a.visitor(r)
	if !found || id.User == "" {
		return nil
	}
	return a.request(id)
}

func (a *Access) request(id Identity) *Request {
	return &Request{Identity: id, view: a.rules.view(&id)}
}

func (a *Access) visitor(r *http.Request) (Identity, bool) {
	for _, known := range a.clients {
		if id, found := known(r); found {
			return id, true
		}
	}
	return Identity{}, false
}

func (a *Access) identity(r *http.Request) (Identity, error) {
	headers := r.Header.Values("Authorization")
	// Without authenticators of tokens the header is for a proxy in front of the archive.
	if len(headers) == 0 || len(a.bearers) == 0 {
		if id, found := a.visitor(r); found && id.User == "" {
			return Identity{}, &Refusal{http.StatusForbidden, "the proxy does not name one user"}
		} else if found {
			return id, nil
		}
		if len(a.bearers) == 0 {
			return Identity{}, &Refusal{http.StatusForbidden, "this client may not read the archive; ask its administrators for access"}
		}
		return Identity{}, &Refusal{http.StatusUnauthorized, "a token is required: send it in the header Authorization: Bearer TOKEN, " +
			"or as a password; for varve, set VARVE_TOKEN"}
	}
	if len(headers) > 1 {
		return Identity{}, &Refusal{http.StatusUnauthorized, "the header Authorization occurs twice"}
	}
	token, err := parseAuthorization(headers[0])
	if err != nil {
		return Identity{}, &Refusal{http.StatusUnauthorized, err.Error()}
	}
	return a.judge(r.Context(), token)
}

// judge returns the identity of a token.
func (a *Access) judge(ctx context.Context, token string) (Identity, error) {
	var unavailable error // why a token cannot be judged now
	reason := errNotMine.Error()
	for _, identify := range a.bearers {
		id, err := identify(ctx, token)
		switch {
		case err == nil:
			return id, nil
		case errors.Is(err, errUnavailable):
			unavailable = err
		case !errors.Is(err, errNotMine):
			return Identity{}, &Refusal{http.StatusUnauthorized, err.Error()}
		}
	}
	switch {
	case errors.Is(unavailable, errTooManyWait):
		return Identity{}, &Refusal{http.StatusTooManyRequests, errTooManyWait.Error() + "; repeat the request in a few seconds"}
	case unavailable != nil:
		return Identity{}, &Refusal{http.StatusServiceUnavailable, errUnavailable.Error() + "; repeat the request in a few seconds"}
	}
	return Identity{}, &Refusal{http.StatusUnauthorized, reason}
}

// parseAuthorization returns the token of a header. Many clients can send only a name and a password,
// and the password is the token.
func parseAuthorization(header string) (string, error) {
	if len(header) > maxToken {
		return "", fmt.Errorf("the header Authorization has more than %d KiB", maxToken>>10)
	}
	scheme, value, _ := strings.Cut(header, " ")
	value = strings.TrimSpace(value)
	switch strings.ToLower(scheme) {
	case "bearer":
	case "basic":
		text, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return "", errors.New("the header Authorization: Basic is not base64")
		}
		_, value, _ = strings.Cut(string(text), ":")
	default:
		return "", errors.New("the header Authorization has neither the scheme Bearer nor Basic")
	}
	if value == "" {
		return "", errors.New("the header Authorization has no token")
	}
	return value, nil
}
