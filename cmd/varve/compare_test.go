package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Lines of PB: a header of float64 samples of A:B in 2026, and two samples.
const (
	pbHeader = "\x08\x06\x12\x03A:B\x18\xea\x0f\n"
	pbFirst  = "\x08\x01\x10\x00\x19\x00\x00\x00\x00\x00\x00\xf0\x3f\n"
	pbSecond = "\x08\x02\x10\x00\x19\x00\x00\x00\x00\x00\x00\xf0\x3f\n"
)

// scripted returns the URL of an archive that answers each request for samples of A:B with a text.
func scripted(t *testing.T, answer string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/retrieval/bpl/getVersion":
		case r.URL.Path == "/retrieval/data/getData.raw" && r.URL.Query().Get("pv") == "A:B":
			_, _ = io.WriteString(w, answer)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestCompare checks the exit codes, and the output in both formats.
func TestCompare(t *testing.T) {
	here := scripted(t, pbHeader+pbFirst+pbSecond)
	lacks, damaged := scripted(t, pbHeader+pbSecond), scripted(t, pbHeader+pbFirst+"\x08")
	const times = " --from 2026-01-01T00:00:00Z --to 2026-01-02T00:00:00Z"
	for _, c := range []struct {
		args string
		code int
		want string // in the output or in the error
	}{
		{"A:B --with " + here + "/retrieval" + times, 0, "1 PVs, 2 samples here, 2 there, 2 equal, 0 differences"},
		{"A:B --with " + lacks + times, exitProblems, "  missing there  1\n    2026-01-01T00:00:01.000000000Z  here 1.0\n"},
		{"A:B --with " + lacks + times + " -o json", exitProblems, `{"pv":"A:B","here":2,"there":1,"equal":1,"counts":{"missing there":1},"examples":[{"kind":"missing there","at":"2026-01-01T00:00:01Z","here":"1.0"}]}`},
		{"A:B A:C --with " + here + times, exitFailed, "neither archive knows the PV"},
		{"A:B --with " + damaged + times, exitFailed, "the answer is damaged"},
		{"A:B --with " + here + "/elsewhere" + times, exitFailed, "--with: no archive answers"},
		{"A:B" + times, exitFailed, "--with is required"},
		{"--with " + here, exitFailed, "name at least one PV"},
		{"A:B --near -1s --with " + here, exitFailed, "--near"},
		{"A:B --from -1m --to -2m --with " + here, exitFailed, "--to"},
		{"A:B --format xml --with " + here, exitFailed, "--format"},
	} {
		cmd, out := newRoot(), new(bytes.Buffer)
		cmd.SetArgs(strings.Fields("compare --url " + here + " " + c.args))
		cmd.SetOut(out)
		cmd.SetErr(new(bytes.Buffer))
		text, code := "", 0
		if err := cmd.Execute(); err != nil {
			text, code = err.Error(), exitCode(err)
		}
		if code != c.code || !strings.Contains(out.String()+text, c.want) {
			t.Errorf("varve compare %s exits with %d, want %d and %q:\n%s%s", c.args, code, c.code, c.want, out, text)
		}
	}
}
