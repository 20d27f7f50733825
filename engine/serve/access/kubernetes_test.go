package access

import (
	"context"
	"errors"
	"testing"
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
	if len(r.known) > maxReviews {
		t.Errorf("%d judgements are in memory", len(r.known))
	}
}
