package access

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/serve/admission"
)

// TestReviewsAreRemembered checks that the API server judges a token once a minute, and that failures
// are not remembered.
func TestReviewsAreRemembered(t *testing.T) {
	c, asked := newClock(), 0
	var failure error
	r := newReviews(&Kubernetes{Audience: "varve"}, func(_ context.Context, token, audience string) (string, []string, bool, error) {
		if asked++; audience != "varve" {
			t.Errorf("the audience is %q", audience)
		}
		return "user of " + token, []string{"g"}, token == "good", failure
	}, c.now)
	check := func(token string, want error, reviews int) {
		t.Helper()
		id, err := r.identify(t.Context(), token)
		if !errors.Is(err, want) || (err == nil) != (id.User == "user of "+token) || asked != reviews {
			t.Errorf("%s: %v, %v after %d reviews", token, id, err, asked)
		}
	}
	check("good", nil, 1)
	check("good", nil, 1)
	check("bad", errNotMine, 2)
	check("bad", errNotMine, 2)
	failure = errors.New("away")
	check("good", nil, 2)
	c.advance(reviewFor)
	check("good", errUnavailable, 3)
	check("good", errUnavailable, 4)
	failure = nil
	check("good", nil, 5)
	for i := range 3 * maxReviews {
		_, _ = r.identify(t.Context(), string(rune(i+1000)))
	}
	if n := len(r.invalid); n > maxReviews {
		t.Errorf("%d judgements are in memory", n)
	}
	check("good", nil, 5+3*maxReviews) // which the invalid ones have not pushed out
}

// TestFewReviewsWait checks that a client with many junk tokens, while the API server is slow, gets few
// places to wait, and that another client gets one.
func TestFewReviewsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		r := newReviews(&Kubernetes{}, func(context.Context, string, string) (string, []string, bool, error) {
			<-answer
			return "ann", nil, true, nil
		}, time.Now)
		slow, other := admission.WithClient(t.Context(), "slow"), admission.WithClient(t.Context(), "other")
		errs := make(chan error, 10*maxWaiting)
		for i := range 10 * maxWaiting {
			go func() {
				_, err := r.identify(slow, strconv.Itoa(i))
				errs <- err
			}()
		}
		synctest.Wait()
		if n := len(errs); n != 10*maxWaiting-waitingShare {
			t.Errorf("%d requests of a client got an answer at once, want all but %d", n, waitingShare)
		}
		for range len(errs) {
			if err := <-errs; !errors.Is(err, errTooManyWait) {
				t.Errorf("a request that cannot wait gets %v", err)
			}
		}
		close(answer)
		if id, err := r.identify(other, "good"); err != nil || id.User != "ann" {
			t.Errorf("another client gets %v, %v", id, err)
		}
		for range waitingShare {
			if err := <-errs; err != nil {
				t.Errorf("a request that waited gets %v", err)
			}
		}
	})
}

// TestTooManyTokensAtOnce checks that a client with too many tokens under way gets 429 with the limit, and that
// others get 503 if the API server does not answer.
func TestTooManyTokensAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, err := Parse([]byte("access: [{kubernetes: {}}]"))
		if err != nil {
			t.Fatal(err)
		}
		down := make(chan struct{})
		a, err := New(cfg, Options{Now: time.Now, Review: func(context.Context, string, string) (string, []string, bool, error) {
			<-down
			return "", nil, false, errors.New("the API server is down")
		}})
		if err != nil {
			t.Fatal(err)
		}
		client := admission.WithClient(t.Context(), "a")
		refusals := make(chan *Refusal, waitingShare+1)
		for i := range waitingShare + 1 {
			go func() {
				var refusal *Refusal
				_, err := a.judge(client, strconv.Itoa(i))
				errors.As(err, &refusal)
				refusals <- refusal
			}()
		}
		synctest.Wait()
		if r := <-refusals; r == nil || r.Code != http.StatusTooManyRequests || !strings.Contains(r.Text, "at most 64") || !strings.Contains(r.Text, "32 of one client") {
			t.Errorf("one token too many gets %v", r)
		}
		close(down)
		for range waitingShare {
			if r := <-refusals; r == nil || r.Code != http.StatusServiceUnavailable {
				t.Errorf("without an API server, a token gets %v", r)
			}
		}
	})
}

// TestTokensOfThisProgramStayHere checks that no other authenticator gets them, even if no file has them.
func TestTokensOfThisProgramStayHere(t *testing.T) {
	cfg, err := Parse([]byte("access: [{kubernetes: {}}]"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(cfg, Options{Now: time.Now, Review: func(_ context.Context, token, _ string) (string, []string, bool, error) {
		t.Errorf("the API server gets %q", token)
		return "", nil, false, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.judge(t.Context(), tokenPrefix+"x"); err == nil {
		t.Error("an unknown token is accepted")
	}
}
