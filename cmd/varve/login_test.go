package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// login runs varve login with an input.
func login(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetArgs(append([]string{"login"}, args...))
	root.SetIn(strings.NewReader(input))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// tokenServer is an archive that accepts one token.
func tokenServer(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Add("Vary", "Accept-Encoding, Authorization")
		switch r.Header.Get("Authorization") {
		case "Bearer varve_right":
			_, _ = w.Write([]byte(`{"names": []}`))
		case "Bearer varve_other":
			http.Error(w, `{"error": "only those who may read every PV see this"}`, http.StatusForbidden)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error": "the token is wrong"}`))
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// TestLoginStoresOnlyATokenThatTheArchiveAccepts checks the file, and that a refused token changes nothing.
func TestLoginStoresOnlyATokenThatTheArchiveAccepts(t *testing.T) {
	t.Setenv(tokenVariable, "varve_environment") // login does not use it
	srv := tokenServer(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("varve_old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := login(t, "varve_wrong\n", "--url", srv.URL, "--token-file", file); err == nil || !strings.Contains(err.Error(), "the token is not stored") || !strings.Contains(err.Error(), "get a token from the administrators") {
		t.Errorf("a wrong token: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "varve_old\n" {
		t.Errorf("a wrong token changed the file to %q, %v", text, err)
	}
	out, err := login(t, " varve_right \n", "--url", srv.URL, "--token-file", file)
	if err != nil || !strings.Contains(out, "--token-file "+file) {
		t.Fatalf("the right token: %q, %v", out, err)
	}
	if strings.Contains(out, "varve_right") {
		t.Errorf("the token is shown: %q", out)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the file is %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".token*")); len(left) > 0 {
		t.Errorf("temporary files stay: %q", left)
	}
	if token, err := (&address{tokenFile: file}).token(); token != "varve_right" || err != nil {
		t.Errorf("other commands read %q, %v", token, err)
	}
}

// TestLoginExplainsMistakes checks the errors of wrong input.
func TestLoginExplainsMistakes(t *testing.T) {
	srv := tokenServer(t)
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer open.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	for _, c := range []struct{ input, url, file, want string }{
		{"", srv.URL, file, "the token is empty"},
		{"a b\n", srv.URL, file, "the input: the token has a space"},
		{strings.Repeat("x", maxToken+1), srv.URL, file, "more than 65536 bytes"},
		{"varve_right\n", srv.URL, dir, "is not a file"},
		{"varve_right\n", srv.URL, filepath.Join(dir, "none", "token"), "there is no directory"},
		{"varve_right\n", srv.URL, "", "--token-file is empty"},
		{"varve_right\n", open.URL, file, "takes no tokens"},
		{"varve_other\n", srv.URL, file, "ask its administrators for access"},
		{"varve_right\n", "ftp://archive", file, "only http and https"},
	} {
		if _, err := login(t, c.input, "--url", c.url, "--token-file", c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%+v: the token is stored", c)
		}
	}
	for url, warns := range map[string]bool{"http://archive": true, "https://archive": false, "http://127.0.0.1:1": false, "http://[::1]:1": false, "http://localhost:1": false, "http://10.0.0.1": true} {
		var out bytes.Buffer
		if warnPlain(&out, url); (out.Len() > 0) != warns {
			t.Errorf("%s: warning %q", url, out.String())
		}
	}
}

// TestRefusalsSayWhatToDo checks the messages of other commands.
func TestRefusalsSayWhatToDo(t *testing.T) {
	srv := tokenServer(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("varve_expired"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ token, file, want string }{
		{"", "", "run varve login"},
		{"varve_expired", "", "does not accept the token in the environment variable VARVE_TOKEN"},
		{"varve_right", file, "does not accept the token in " + file},
		{"varve_other", "", "ask its administrators for access"},
	} {
		t.Setenv(tokenVariable, c.token)
		args := []string{"status", "--url", srv.URL}
		if c.file != "" {
			args = append(args, "--token-file", c.file)
		}
		if _, _, err := varve(t, args...); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "varve_") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestInterruptedLoginShowsInputAgain interrupts varve login while it reads from a terminal. The shell
// that the user returns to must show what is typed.
func TestInterruptedLoginShowsInputAgain(t *testing.T) {
	keyboard, terminal := pseudoterminal(t)
	shows := func() bool {
		state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return state.Lflag&unix.ECHO != 0
	}
	if !shows() {
		t.Fatal("the terminal shows nothing before")
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := readToken(ctx, terminal, io.Discard)
		ended <- err
	}()
	for shows() {
		runtime.Gosched() // until the token is being read
	}
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the login ended with %v", err)
	}
	if !shows() {
		t.Error("the terminal shows no input after the login was interrupted")
	}
	if _, err := keyboard.WriteString("\n"); err != nil { // ends the read
		t.Error(err)
	}
}

// pseudoterminal returns the two ends of a terminal: what is written to the first is typed in the second.
func pseudoterminal(t *testing.T) (keyboard, terminal *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudoterminals: %v", err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudoterminals: %v", err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return keyboard, terminal
}
