package main

import (
	"context"
	"fmt"

	authentication "k8s.io/api/authentication/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationapi "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"

	"varve.dev/varve/engine/serve/access"
)

// reviewer returns what asks the API server about bearer tokens. The pod needs the right to create
// TokenReviews.
func reviewer(cfg *rest.Config) (access.Reviewer, error) {
	cfg = rest.CopyConfig(cfg)
	// -1 switches off the rate limit of client-go, with which the invalid tokens of one client would delay all
	// others. Package access limits each client instead.
	cfg.QPS = -1
	api, err := authenticationapi.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, token, audience string) (user string, groups []string, valid bool, err error) {
		review := &authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token}}
		if audience != "" {
			review.Spec.Audiences = []string{audience}
		}
		if review, err = api.TokenReviews().Create(ctx, review, meta.CreateOptions{}); err != nil {
			return "", nil, false, fmt.Errorf("reviewing a token: %w", err)
		}
		s := &review.Status
		// An authenticator of tokens that knows no audiences does not return them.
		valid = s.Authenticated && (audience == "" || len(s.Audiences) == 1 && s.Audiences[0] == audience)
		return s.User.Username, s.User.Groups, valid, nil
	}, nil
}
