package fleet

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestFetch(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   []byte
		err    string
	}{
		{"a report", 200, []byte(`{"engine":"e1","later":"a field of a later version"}`), ""},
		{"an error", 503, nil, "503"},
		{"not JSON", 200, []byte("<html>"), "reading the report"},
		{"no end", 200, bytes.Repeat([]byte(" "), reportSize+1), "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write(tc.body)
			}))
			defer s.Close()
			r, err := fetch(t.Context(), s.Client(), s.URL)
			switch {
			case tc.err == "" && (err != nil || r.Engine != "e1"):
				t.Errorf("%+v, %v", r, err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}
