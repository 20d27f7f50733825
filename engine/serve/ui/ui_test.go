package ui

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	Register(mux, "")
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

// TestPageNeedsNoOtherHostAndNoInlineScript checks what the Content-Security-Policy and a path prefix
// require of the page.
func TestPageNeedsNoOtherHostAndNoInlineScript(t *testing.T) {
	w := get(t, "/?pv=SR:I")
	page := w.Body.String()
	if w.Code != 200 || !strings.Contains(w.Header().Get("Content-Security-Policy"), "script-src 'self';") {
		t.Fatalf("the page is %d with the headers %v", w.Code, w.Header())
	}
	for _, script := range regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(page, -1) {
		if script[2] != "" || !strings.Contains(script[1], `src="./assets/`) {
			t.Errorf("a script is %s", script[0])
		}
	}
	if strings.Contains(page, "<style") || strings.Contains(page, "://") || regexp.MustCompile(`(src|href)="/`).MatchString(page) {
		t.Errorf("the page has an inline style, an absolute URL or another host:\n%s", page)
	}
}

// TestPageConnectsToTheIssuer checks that pages may send requests to the archive and to the issuer of a login only.
func TestPageConnectsToTheIssuer(t *testing.T) {
	for issuer, want := range map[string]string{"": "connect-src 'self';", "https://login.example.org": "connect-src 'self' https://login.example.org;"} {
		mux, w := http.NewServeMux(), httptest.NewRecorder()
		Register(mux, issuer)
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/login", nil))
		if got := w.Header().Get("Content-Security-Policy"); !strings.Contains(got, want) {
			t.Errorf("with the issuer %q, the policy is %s", issuer, got)
		}
	}
}

// TestFilesAreCached checks that browsers keep files whose names change with their content, and ask
// for the page at each visit.
func TestFilesAreCached(t *testing.T) {
	w := get(t, "/")
	if w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("the page has the headers %v", w.Header())
	}
	if again := get(t, "/", "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("an unchanged page returns %d", again.Code)
	}
	assets, err := fs.Glob(files, "dist/assets/*")
	if err != nil || len(assets) < 3 {
		t.Fatalf("the assets are %v: %v", assets, err)
	}
	for _, name := range assets {
		w := get(t, strings.TrimPrefix(name, "dist"))
		if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s is %d with the headers %v", name, w.Code, w.Header())
		}
	}
	if w := get(t, "/assets/none.js"); w.Code != http.StatusNotFound {
		t.Errorf("a missing file returns %d", w.Code)
	}
}

// TestPagesHavePaths checks that each page of the UI is served, and no other path.
func TestPagesHavePaths(t *testing.T) {
	table, err := os.ReadFile("../../../ui/src/nav.ts")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^  \{ name: "(\w*)"`).FindAllStringSubmatch(string(table), -1)
	if len(names) != len(Pages)+1 {
		t.Errorf("the UI has the pages %q besides Explore, and the server serves %q", names, Pages)
	}
	for _, name := range names {
		if w := get(t, "/"+name[1]); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<script") {
			t.Errorf("the page %q is %d", name[1], w.Code)
		}
	}
	if w := get(t, "/none"); w.Code != http.StatusNotFound {
		t.Errorf("another path is %d", w.Code)
	}
}
