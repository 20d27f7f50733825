package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/query"
)

// secrets writes files of a Secret.
func secrets(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCredentialsForAnOlderArchive sends a token, and a user name with a password.
func TestCredentialsForAnOlderArchive(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"Bearer varve_abc":           {"token": "varve_abc\n"},
		"Basic YW5uOnNlc2FtZSBvcGVu": {"username": "ann\n", "password": "sesame open\n"},
	} {
		got := make(chan string, 1)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got <- r.Header.Get("Authorization")
			http.Error(w, "wrong: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		}))
		defer srv.Close()
		reader := &query.Reader{}
		o := throughOptions{url: srv.URL, names: 1, credentials: secrets(t, files)}
		older, err := o.open(reader, prometheus.NewRegistry(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer older.close()
		_, err = reader.Through.Outside(t.Context(), "A:B")
		if sent := <-got; sent != want {
			t.Errorf("sent %q, want %q", sent, want)
		}
		_, secret, _ := strings.Cut(want, " ")
		for _, text := range append(older.archive.Problems(), err.Error()) {
			if strings.Contains(text, secret) || !strings.Contains(text, "401") {
				t.Errorf("the text %q repeats the credentials, or lacks the status", text)
			}
		}
	}
}

// TestCredentialsStayWithTheirHost redirects a request to another host.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host gets a request with %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	}))
	defer srv.Close()
	reader := &query.Reader{}
	o := throughOptions{url: srv.URL, names: 1, credentials: secrets(t, map[string]string{"token": "varve_abc"})}
	older, err := o.open(reader, prometheus.NewRegistry(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer older.close()
	if _, err := reader.Through.Outside(t.Context(), "A:B"); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("a redirect: %v", err)
	}
}

// TestWrongCredentialsAreErrorsAtTheStart checks the files, and --read-through-names.
func TestWrongCredentialsAreErrorsAtTheStart(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"neither the file token nor": {},
		"password":                   {"username": "ann"},
		"is empty":                   {"token": "\n"},
		"one line":                   {"token": "a\nb"},
	} {
		o := throughOptions{url: "http://older.invalid", names: 1, credentials: secrets(t, files)}
		if _, err := o.open(&query.Reader{}, prometheus.NewRegistry(), nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--read-through-credentials") {
			t.Errorf("%v: %v; want %s", files, err, want)
		}
	}
	for _, n := range []int{-1, 0, maxThroughNames + 1} {
		o := throughOptions{url: "http://older.invalid", names: n}
		if _, err := o.open(&query.Reader{}, prometheus.NewRegistry(), nil); err == nil || !strings.Contains(err.Error(), "--read-through-names") {
			t.Errorf("%d names: %v", n, err)
		}
	}
}
