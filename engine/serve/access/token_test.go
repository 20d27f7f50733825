package access

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// clock is the time of a test.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newToken(t *testing.T, name string, expires time.Time) (secret, line string) {
	t.Helper()
	secret, line, err := NewToken(name, []string{"vacuum"}, expires)
	if err != nil {
		t.Fatal(err)
	}
	return secret, line + "\n"
}

// TestWrongTokenFilesAreRefused checks that an error names the line.
func TestWrongTokenFilesAreRefused(t *testing.T) {
	hash := "sha256:" + strings.Repeat("0", 64)
	for text, want := range map[string]string{
		"ann":                                "line 1: it is not NAME sha256:HASH",
		"# a\n\nann md5:12":                  "line 3: the hash of ann",
		"ann sha256:12":                      "line 1: the hash of ann",
		"a=b " + hash:                        `line 1: the name: "a=b" has a space`,
		"ann " + hash + " groups=,":          "line 1: groups of ann: a name is empty",
		"ann " + hash + " expires=tomorrow":  `line 1: expires of ann: "tomorrow" is not a time`,
		"ann " + hash + " group=a":           `line 1: "group=a" of ann is not groups=`,
		"ann " + hash + " groups=a groups=b": `line 1: "groups=b" of ann`,
		"ann " + hash + "\nann " + hash:      `line 2: the name "ann" occurs twice`,
		"ann\x00 " + hash:                    "line 1: the name",
	} {
		if _, err := ParseTokens([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if all, err := ParseTokens([]byte("# nobody\n\n")); err != nil || len(all) != 0 {
		t.Errorf("a file without tokens: %v, %v", all, err)
	}
}

// TestTokensFollowTheirFile checks that a change of the file counts after a second, and that the last
// valid tokens stay in use while the file is gone or invalid.
func TestTokensFollowTheirFile(t *testing.T) {
	c, path := newClock(), filepath.Join(t.TempDir(), "tokens")
	ann, annLine := newToken(t, "ann", c.at.Add(time.Minute))
	bob, bobLine := newToken(t, "bob", time.Time{})
	write(t, path, annLine)
	f, err := openTokens(path, c.now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, annKnown, bobKnown, sound bool) {
		t.Helper()
		for secret, want := range map[string]bool{ann: annKnown, bob: bobKnown} {
			if id, err := f.identify(t.Context(), secret); (err == nil) != want {
				t.Errorf("%s: a token is known as %v, %v", when, id, err)
			}
		}
		if p := f.problems(); (len(p) == 0) != sound {
			t.Errorf("%s: problems %q", when, p)
		}
	}
	check("at first", true, false, true)
	write(t, path, annLine+bobLine)
	check("at once", true, false, true)
	c.advance(reloadAfter)
	check("after a second", true, true, true)
	write(t, path, annLine+"bob")
	c.advance(reloadAfter)
	check("while the file is invalid", true, true, false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c.advance(reloadAfter)
	check("while the file is gone", true, true, false)
	c.advance(time.Minute)
	check("after the expiry of ann", false, true, false)
	write(t, path, "# nobody\n")
	c.advance(reloadAfter)
	check("without tokens", false, false, true)
	c.at = c.at.Add(-time.Hour) // a clock that was set back must not stop reloads
	write(t, path, bobLine)
	check("after the clock was set back", false, true, true)
}

// TestASlowDiskHoldsOneRequest checks that only one request waits for the file, and that problems says so.
func TestASlowDiskHoldsOneRequest(t *testing.T) {
	c, path := newClock(), filepath.Join(t.TempDir(), "tokens")
	secret, line, err := NewToken("ann", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, line)
	f, err := openTokens(path, c.now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		disk := make(chan struct{})
		f.get = func(string) ([]byte, error) {
			<-disk
			return []byte("# nobody"), nil
		}
		c.advance(reloadAfter)
		first := make(chan error)
		go func() {
			_, err := f.identify(t.Context(), secret)
			first <- err
		}()
		synctest.Wait()
		if _, err := f.identify(t.Context(), secret); err != nil {
			t.Errorf("while the disk does not answer: %v", err)
		}
		if got := f.problems(); len(got) > 0 {
			t.Errorf("a moment later there are the problems %q", got)
		}
		c.advance(2 * slowRead)
		if got := f.problems(); len(got) != 1 || !strings.Contains(got[0], "21s") {
			t.Errorf("while the disk does not answer, the problems are %q", got)
		}
		close(disk)
		if err := <-first; !errors.Is(err, errNotMine) {
			t.Errorf("the request that has read the file gets %v", err)
		}
	})
}

// TestAFileOfTokensMustBeValidAtTheStart checks errors of New.
func TestAFileOfTokensMustBeValidAtTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	cfg := &Config{Authenticators: []Authenticator{{Tokens: &Tokens{path}}}}
	for _, text := range []string{"", "ann"} {
		if text != "" {
			write(t, path, text)
		}
		if _, err := New(cfg, Options{Now: newClock().now}); err == nil || !strings.Contains(err.Error(), "access: tokens: ") {
			t.Errorf("a file with %q: %v", text, err)
		}
	}
	if _, err := New(&Config{Authenticators: []Authenticator{{Kubernetes: &Kubernetes{}}}}, Options{}); err == nil {
		t.Error("TokenReview is possible without an API server")
	}
}

// TestNetworksIgnoreHeaders checks that only the address of the connection counts.
func TestNetworksIgnoreHeaders(t *testing.T) {
	c, err := Parse([]byte("access:\n- networks: [{cidr: 10.1.0.0/16, groups: [a]}, {cidr: 10.0.0.0/8, groups: [b]}, {cidr: 'fd00::/8', groups: [c]}]"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(c, Options{Now: newClock().now})
	if err != nil {
		t.Fatal(err)
	}
	for remote, want := range map[string]string{
		"10.1.2.3:1": "[a]", "10.2.0.1:1": "[b]", "[::ffff:10.1.2.3]:1": "[a]", "[fd00::1%eth0]:1": "[c]", "192.168.1.1:1": "", "@": "", "": "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-For", "10.1.2.3")
		r.Header.Set("Forwarded", "for=10.1.2.3")
		got := ""
		q, err := a.Identify(r)
		if err == nil {
			got = fmt.Sprint(q.Groups)
		}
		if got != want {
			t.Errorf("%s has the groups %s, want %s", remote, got, want)
		}
	}
}

// FuzzParseTokens checks that a valid token is written as it was read.
func FuzzParseTokens(f *testing.F) {
	_, line, _ := NewToken("ann", []string{"a", "b"}, time.Unix(1e9, 0))
	f.Add([]byte("# c\n" + line + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := ParseTokens(text)
		if err != nil {
			return
		}
		for i := range all {
			again, err := parseToken(all[i].line())
			if err != nil || again.Name != all[i].Name || again.hash != all[i].hash || !again.Expires.Equal(all[i].Expires) {
				t.Errorf("%q is read as %v: %v", all[i].line(), again, err)
			}
		}
	})
}

// FuzzAuthorization checks that no header gives an identity.
func FuzzAuthorization(f *testing.F) {
	for _, h := range []string{"Bearer varve_a", "Basic YTpi", "Basic ", "Bearer", "", "Bearer a.b.c", "Bearer eyJhbGciOiJub25lIn0.e30."} {
		f.Add(h)
	}
	path := filepath.Join(f.TempDir(), "tokens")
	_, line, _ := NewToken("ann", nil, time.Time{})
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		f.Fatal(err)
	}
	cfg := &JWT{Issuer: "https://127.0.0.1:1", Audience: "varve", Algorithms: algorithms}
	a, err := New(&Config{Authenticators: []Authenticator{{Tokens: &Tokens{path}}, {JWT: cfg}}}, Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header["Authorization"] = []string{header}
		if q, err := a.Identify(r); err == nil {
			t.Errorf("the header %q gives %v", header, q.Identity)
		}
	})
}
