package through

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"varve.dev/varve/engine/query"
)

// TestTextsOfTheOlderArchiveAreCut lets it send markup, control characters and long texts.
func TestTextsOfTheOlderArchiveAreCut(t *testing.T) {
	const bad = "<script>alert(1)</script>\x1b[2J\u202e\xff\r\n"
	for name, answer := range map[string]http.HandlerFunc{
		"a text": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, bad+strings.Repeat("x", 5000), http.StatusInternalServerError)
		},
		"a header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Varve-Lost-Samples", "<b>"+strings.Repeat("y", 5000))
			_, _ = io.WriteString(w, header("A:B"))
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.invalid/"+strings.Repeat("z", 5000), http.StatusFound)
		},
	} {
		p := newPeer(t, Config{}, answer)
		_, err := p.read(t.Context())
		var older *query.OlderError
		if !errors.As(err, &older) {
			t.Fatalf("%s: %v", name, err)
		}
		for _, text := range append(p.Problems(), older.Text, older.Summary) {
			unprinted := strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
			if text == "" || unprinted || strings.ContainsAny(text, "<>") || len(text) > 2*maxText {
				t.Errorf("%s: the text is %q", name, text)
			}
		}
		if strings.Contains(older.Summary, p.cfg.URL.Host) || strings.Contains(older.Summary, "other.invalid") || strings.Contains(older.Summary, "A:B") {
			t.Errorf("%s: the summary is %q", name, older.Summary)
		}
	}
}

// TestCredentialsThatCannotBeReadAreNoAnswer checks the reason that readers and metrics get.
func TestCredentialsThatCannotBeReadAreNoAnswer(t *testing.T) {
	p := newPeer(t, Config{Authorize: func(*http.Request) error { return errors.New("no file token") }}, func(http.ResponseWriter, *http.Request) {
		t.Error("a request without credentials")
	})
	_, err := p.read(t.Context())
	var older *query.OlderError
	if !errors.As(err, &older) || older.Summary != "the credentials for it cannot be read" || !strings.Contains(older.Text, "no file token") {
		t.Errorf("%v", err)
	}
	if n := p.metric(t, "varve_read_through_errors_total", "credentials"); n != 1 {
		t.Errorf("%v failures because of the credentials, want 1", n)
	}
}
