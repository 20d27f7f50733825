package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestURLsOfAnArchive(t *testing.T) {
	for text, want := range map[string]string{
		"http://archive:17665":                  "http://archive:17665",
		"http://archive:17665/":                 "http://archive:17665",
		"archive:17665":                         "http://archive:17665",
		"archive":                               "http://archive",
		"[::1]:17665":                           "http://[::1]:17665",
		"https://user:word@archive":             "https://user:word@archive",
		"http://archive/retrieval":              "http://archive",
		"http://archive/mgmt/bpl/":              "http://archive",
		"http://proxy/varve/retrieval/data/get": "http://proxy/varve",
		"http://proxy/api/v1":                   "http://proxy",
		"http://proxy/archive-access/api/1.0":   "http://proxy",
	} {
		if got, err := baseURL(text); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"": "empty", "pbraw://archive:17665/retrieval": "Phoebus", "json:http://archive/archive-access/api/1.0;key=1": "Phoebus",
		"ftp://archive": "only http and https", "http://": "no host", "http://archive:99999": "port 99999", "http://archive:x": "not a URL",
		"http://archive?pv=A": "parameters",
	} {
		t.Setenv(urlVariable, text)
		if _, _, err := varve(t, "status", "--url", text); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.HasPrefix(err.Error(), "--url: ") || !strings.Contains(err.Error(), "write it like http://127.0.0.1:17665") {
			t.Errorf("--url %q returns %v, which does not say %q", text, err, says)
		}
		if _, _, err := varve(t, "status"); text != "" && (err == nil || !strings.HasPrefix(err.Error(), "VARVE_URL: ")) {
			t.Errorf("VARVE_URL=%q returns %v", text, err)
		}
	}
}

// TestABusyArchiveIsTriedAgain checks that commands repeat a request when a busy archive allows
// it, and that they give up.
func TestABusyArchiveIsTriedAgain(t *testing.T) {
	var requests, refusals int
	retryAfter := "0"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if requests++; requests <= refusals {
			w.Header().Set("Retry-After", retryAfter)
			w.WriteHeader([]int{http.StatusServiceUnavailable, http.StatusTooManyRequests}[requests%2])
			fmt.Fprintln(w, `{"error":"32 reads are under way"}`)
			return
		}
		fmt.Fprintln(w, `{"total":{"channels":17}}`)
	}))
	defer srv.Close()
	t.Setenv(urlVariable, srv.URL)

	refusals = 3
	out, warnings, err := varve(t, "status")
	if err != nil || !strings.Contains(out, "17") || strings.Count(warnings, "Trying again") != 3 {
		t.Errorf("after 3 refusals, status prints %q, %q, %v", out, warnings, err)
	}
	requests, refusals = 0, 1000
	if _, _, err := varve(t, "status"); err == nil || !strings.Contains(err.Error(), "32 reads are under way") || requests != maxTries {
		t.Errorf("status sends %d requests, and returns %v", requests, err)
	}
	requests, retryAfter = 0, "3600"
	if _, _, err := varve(t, "status"); err == nil || requests != 1 {
		t.Errorf("status sends %d requests to an archive that is busy for an hour, and returns %v", requests, err)
	}
}

// TestUnreachableArchives checks that an error about a server says which server, why, and what to
// check, and that it has neither a password nor the path of the request.
func TestUnreachableArchives(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "<html>") }))
	defer page.Close()
	empty := httptest.NewServer(http.NewServeMux())
	defer empty.Close()
	for url, says := range map[string]string{
		"user:secret@127.0.0.1:1": "cannot reach the archive at http://127.0.0.1:1: connect: connection refused; check that it runs there",
		page.URL:                  "is no archive",
		empty.URL:                 "it has no path /api/v1/",
	} {
		for _, args := range [][]string{{"status"}, {"get", "A"}} {
			_, _, err := varve(t, append(args, "--url", url)...)
			if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "%") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v --url %s returns %v, which does not say %q", args, url, err, says)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	if out, _, err := varve(t, "version"); err != nil || !strings.HasPrefix(out, "varve "+version()) {
		t.Errorf("varve version prints %q, %v", out, err)
	}
}
