package main

import (
	"bytes"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/access"
	"varve.dev/varve/engine/store/pebble"
)

// TestServingOthersNeedsAChoice checks at which addresses standalone serves without an access file.
func TestServingOthersNeedsAChoice(t *testing.T) {
	for addr, exposed := range map[string]bool{"127.0.0.1:1": false, "[::1]:1": false, "0.0.0.0:1": true, "[::]:1": true, "10.1.2.3:1": true} {
		tcp, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		err = (&accessOptions{}).checkExposed(tcp)
		if (err != nil) != exposed {
			t.Errorf("%s without an access file: %v", addr, err)
		}
		if exposed && !strings.Contains(err.Error(), "access: [{anonymous: {}}]") {
			t.Errorf("the error does not say what to write: %v", err)
		}
		if err := (&accessOptions{file: "access.yaml"}).checkExposed(tcp); err != nil {
			t.Errorf("%s with an access file: %v", addr, err)
		}
	}
}

// TestTokenCreate checks that the printed token is the one of the printed line.
func TestTokenCreate(t *testing.T) {
	var out, secret bytes.Buffer
	cmd := newRoot()
	cmd.SetOut(&out)
	cmd.SetErr(&secret)
	cmd.SetArgs([]string{"token", "create", "--name", "ann", "--groups", "vacuum,staff", "--expires", "90d"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	tokens, err := access.ParseTokens(out.Bytes())
	if err != nil || len(tokens) != 1 || tokens[0].Name != "ann" || tokens[0].Expires.IsZero() || strings.Join(tokens[0].Groups, " ") != "vacuum staff" {
		t.Errorf("the line is %q: %v", out.String(), err)
	}
	words := strings.Fields(secret.String())
	if token := words[len(words)-1]; !strings.HasPrefix(token, "varve_") || strings.Contains(out.String(), token) {
		t.Errorf("the token is %q, and the line %q", token, out.String())
	}
}

// TestTokenCreateRefusesWrongNames checks errors of the flags.
func TestTokenCreateRefusesWrongNames(t *testing.T) {
	for _, args := range [][]string{{"--name", "ann b"}, {"--name", "ann", "--groups", "a,,b"}, {"--name", "a=b"}, {"--name", "ann", "--expires", "50y"}} {
		var out bytes.Buffer
		cmd := newRoot()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(append([]string{"token", "create"}, args...))
		if err := cmd.ExecuteContext(t.Context()); err == nil || out.Len() > 0 {
			t.Errorf("%q: error %v, output %q", args, err, out.String())
		}
	}
}

// TestClientsSendTheToken checks where the client takes its token from.
func TestClientsSendTheToken(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ env, file, url, want, err string }{
		{url: srv.URL},
		{env: "from-env", url: srv.URL, want: "Bearer from-env"},
		{env: "from-env", file: file, url: srv.URL, want: "Bearer from-file"},
		{env: "a b", url: srv.URL, err: "VARVE_TOKEN: the token has a space"},
		{file: file + "x", url: srv.URL, err: "--token-file"},
		{env: "from-env", url: strings.Replace(srv.URL, "://", "://ann:secret@", 1), err: "--url: it has a password"},
	} {
		t.Setenv(tokenVariable, c.env)
		got = ""
		resp, err := (&client{address{tokenFile: c.file}}).request(t.Context(), c.url, "/api/v1/status")
		if err == nil {
			_ = resp.Body.Close()
		}
		if got != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: the client sends %q, error %v", c, got, err)
		}
	}
}

// TestUnusedPatternsAreLogged checks the warning about rules of readers that name no PV.
func TestUnusedPatternsAreLogged(t *testing.T) {
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	names := &query.Reader{Store: st, Shards: 1, Captured: func() iter.Seq[string] { return slices.Values([]string{"SR:VAC:P1"}) }}
	for readers, want := range map[string]string{"SR:VAC:*": "", "SR:VAK:*": "SR:VAK:*"} {
		cfg, err := access.Parse([]byte("access: [{anonymous: {}}]\ndefault: everybody\nreaders: [{pvs: ['" + readers + "'], groups: [vacuum]}]"))
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		g := gate{}
		if g.access, err = access.New(cfg, access.Options{Now: time.Now}); err != nil {
			t.Fatal(err)
		}
		g.warnUnused(t.Context(), names, slog.New(slog.NewTextHandler(&log, nil)))
		if got := log.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("for %s the log is %q", readers, got)
		}
	}
}
