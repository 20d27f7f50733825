package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	authentication "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
)

// TestReviewer checks what counts as a valid token.
func TestReviewer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authentication.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" {
			t.Errorf("%s: %v", r.URL, err)
		}
		s := &review.Status
		switch review.Spec.Token {
		case "broken":
			http.Error(w, "no", http.StatusInternalServerError)
			return
		case "good":
			s.Authenticated, s.Audiences = true, review.Spec.Audiences
		case "old": // of an authenticator that knows no audiences
			s.Authenticated = true
		case "other":
			s.Authenticated, s.Audiences = true, []string{"other"}
		}
		s.User.Username, s.User.Groups = "ann", []string{"vacuum"}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer srv.Close()
	review, err := reviewer(&rest.Config{Host: srv.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		token, audience string
		valid, fails    bool
	}{
		{"good", "varve", true, false}, {"good", "", true, false}, {"old", "", true, false}, {"old", "varve", false, false},
		{"other", "varve", false, false}, {"bad", "varve", false, false}, {"broken", "varve", false, true},
	} {
		user, groups, valid, err := review(t.Context(), c.token, c.audience)
		if valid != c.valid || (err != nil) != c.fails || valid && (user != "ann" || len(groups) != 1) {
			t.Errorf("%+v: %s %q %t %v", c, user, groups, valid, err)
		}
	}
}

// TestReviewsAreNotSlowedDown checks that the client of the API server does not delay reviews, which would
// hold the requests of all clients.
func TestReviewsAreNotSlowedDown(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(authentication.TokenReview{})
	}))
	defer srv.Close()
	cfg := &rest.Config{Host: srv.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, QPS: 1e-6, Burst: 1}
	review, err := reviewer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // with the limit, the second one would take days
		if _, _, _, err := review(t.Context(), "junk", ""); err != nil {
			t.Fatal(err)
		}
	}
}
