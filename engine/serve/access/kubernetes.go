package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"varve.dev/varve/engine/serve/admission"
)

// Kubernetes lets the API server judge tokens, such as those of service accounts.
type Kubernetes struct{ Audience string }

// Reviewer judges a bearer token. It returns an error if it cannot be judged, and false if it is
// invalid.
type Reviewer func(ctx context.Context, token, audience string) (user string, groups []string, valid bool, err error)

func parseKubernetes(n node) (*Kubernetes, error) {
	fields, err := n.fields("audience")
	if err != nil {
		return nil, err
	}
	k := &Kubernetes{}
	return k, setText(fields, "audience", &k.Audience)
}

const (
	// reviewFor is how long a judgement is used: a token that is revoked works so long.
	reviewFor = time.Minute
	// maxReviews is the number of judgements in memory, of valid tokens and of others.
	maxReviews    = 1000
	reviewTimeout = 5 * time.Second
	// reviewsAtOnce bounds the requests to the API server.
	reviewsAtOnce = 4
)

// reviews remembers the judgements of the API server by the hash of the token:
//
//	token ─▶ judged a moment ago ─▶ identity, or refusal
//	         otherwise: wait for one of 4 places ─▶ API server ─▶ identity, or refusal
//	                      └─ too many wait, of all or of this client: 429
//
// Invalid tokens are remembered apart, so that a client with many of them does not push out valid ones.
type reviews struct {
	audience string
	review   Reviewer
	now      func() time.Time
	places   chan struct{}
	waiting  *admission.Budget

	mu             sync.Mutex
	valid, invalid map[[sha256.Size]byte]judgement
}

type judgement struct {
	id    Identity
	valid bool
	until time.Time
}

func newReviews(cfg *Kubernetes, review Reviewer, now func() time.Time) *reviews {
	return &reviews{
		audience: cfg.Audience, review: review, now: now, places: make(chan struct{}, reviewsAtOnce), waiting: newWaiting(),
		valid: map[[sha256.Size]byte]judgement{}, invalid: map[[sha256.Size]byte]judgement{},
	}
}

// identify returns the identity of a token.
func (r *reviews) identify(ctx context.Context, token string) (Identity, error) {
	hash := sha256.Sum256([]byte(token))
	j, found := r.recall(hash)
	if !found {
		var err error
		if j, err = r.ask(ctx, token); err != nil {
			return Identity{}, err
		}
		r.remember(hash, j)
	}
	if !j.valid {
		return Identity{}, errNotMine
	}
	return j.id, nil
}

// ask asks the API server.
func (r *reviews) ask(ctx context.Context, token string) (j judgement, err error) {
	client := admission.ClientOf(ctx)
	if !r.waiting.Take(client, 1) {
		return j, errTooManyWait
	}
	defer r.waiting.Give(client, 1)
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	select {
	case r.places <- struct{}{}:
	case <-ctx.Done():
		return j, errors.Join(errUnavailable, ctx.Err())
	}
	defer func() { <-r.places }()
	user, groups, valid, err := r.review(ctx, token, r.audience)
	if err != nil {
		return j, errors.Join(errUnavailable, err)
	}
	return judgement{Identity{User: user, Groups: groups, Method: "kubernetes"}, valid && user != "", r.now().Add(reviewFor)}, nil
}

func (r *reviews) recall(hash [sha256.Size]byte) (judgement, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j, found := r.valid[hash]
	if !found {
		j, found = r.invalid[hash]
	}
	return j, found && r.now().Before(j.until)
}

// remember keeps a judgement. If there are too many of its kind, all of them are forgotten, which costs the
// API server one more review of each.
func (r *reviews) remember(hash [sha256.Size]byte, j judgement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	into, other := r.valid, r.invalid
	if !j.valid {
		into, other = other, into
	}
	delete(other, hash)
	if len(into) >= maxReviews {
		clear(into)
	}
	into[hash] = j
}
