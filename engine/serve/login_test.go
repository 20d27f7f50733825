package serve

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"varve.dev/varve/engine/serve/access"
)

// TestLoginNamesTheIssuer checks what a page learns about the issuer, and that it is nothing else of the access file.
func TestLoginNamesTheIssuer(t *testing.T) {
	for text, want := range map[string]string{
		"access: [{anonymous: {}}]":                                                                                           "{}\n",
		"access: [{jwt: {issuer: 'https://a/b', audience: varve}}]":                                                           "{}\n",
		"access: [{jwt: {issuer: 'https://a/b', audience: v, login: {}}}]":                                                    `{"issuer":"https://a/b","clientID":"v","scopes":["openid","profile"]}` + "\n",
		"access: [{jwt: {issuer: 'https://a', audience: v, userClaim: x, login: {clientID: web, scopes: [groups, openid]}}}]": `{"issuer":"https://a","clientID":"web","scopes":["groups","openid"],"audience":"v"}` + "\n",
	} {
		c, err := access.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		a, err := access.New(c, access.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		mux, w := http.NewServeMux(), httptest.NewRecorder()
		(&Config{Access: a, Now: time.Now}).registerLogin(mux)
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/login", nil))
		if w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: %d %s", text, w.Code, w.Body)
		}
	}
	if origin := (*access.Access)(nil).Login().Origin(); origin != "" {
		t.Errorf("without an access file, the origin of the issuer is %q", origin)
	}
}
