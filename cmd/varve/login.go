package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// maxToken bounds the bytes of a token. Tokens of OpenID Connect have some KiB.
const maxToken = 64 << 10

func newLogin() *cobra.Command {
	var a address
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Check a token for an archive, and store it in a file",
		Long: `Asks for the token of a reader, checks that the archive accepts it, and writes it to the file of
--token-file, which only you may read. If stdin is no terminal, the token is the first line of stdin.

The administrators of an archive make tokens with varve token create, or name an issuer of OpenID
Connect from which you get one. Other commands use the file with --token-file, or the token in the
environment variable ` + tokenVariable + `.`,
		Example: `  varve login --url https://archive.example.org --token-file ~/.varve-token
  varve get SR01-VA:PRES-01 --url https://archive.example.org --token-file ~/.varve-token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			base, err := a.base(cmd)
			if err != nil {
				return err
			}
			if err := checkTokenFile(a.tokenFile); err != nil {
				return err
			}
			warnPlain(cmd.ErrOrStderr(), base)
			token, err := readToken(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := tryToken(cmd.Context(), base, token); err != nil {
				return fmt.Errorf("the token is not stored: %w", err)
			}
			if err := storeToken(a.tokenFile, token); err != nil {
				return fmt.Errorf("--token-file: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The archive accepts the token. It is in %s. Use it with --token-file %[1]s.\n", a.tokenFile)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.text, "url", "", fmt.Sprintf("URL of the archive (default: the environment variable %s, or %s)", urlVariable, defaultURL))
	f.StringVar(&a.tokenFile, "token-file", "", "file to write the token to (required)")
	_ = cmd.MarkFlagRequired("token-file")
	return cmd
}

// checkTokenFile finds mistakes in --token-file before the user enters a token.
func checkTokenFile(file string) error {
	switch info, err := os.Stat(file); {
	case file == "":
		return errors.New("--token-file is empty: name a file, such as ~/.varve-token")
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("--token-file: %s is not a file; name a file in it or elsewhere", file)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return fmt.Errorf("--token-file: there is no directory %s; create it", filepath.Dir(file))
	}
	return nil
}

// warnPlain warns of a URL over which others on the network can read the token.
func warnPlain(to io.Writer, base string) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		fmt.Fprintln(to, "The URL begins with http://, so others on the network can read the token. Use https:// if the archive has it.")
	}
}

// readToken reads a token from a terminal without showing it, or the first line of another input.
func readToken(ctx context.Context, in io.Reader, out io.Writer) (string, error) {
	var line []byte
	var err error
	if f, is := in.(*os.File); is && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(out, "Token: ")
		line, err = readHidden(ctx, int(f.Fd()))
		fmt.Fprintln(out)
	} else {
		line, err = bufio.NewReader(io.LimitReader(in, maxToken+1)).ReadBytes('\n')
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return "", fmt.Errorf("reading the token: %w", err)
	case len(line) > maxToken:
		return "", fmt.Errorf("the token has more than %d bytes", maxToken)
	case strings.TrimSpace(string(line)) == "":
		return "", errors.New("the token is empty: enter it, or write it to stdin as one line")
	}
	return checkToken("the input", string(line))
}

// readHidden reads a line from a terminal without showing it, until ctx ends. It then shows input
// again; the read goes on until the program ends.
func readHidden(ctx context.Context, terminal int) ([]byte, error) {
	state, err := term.GetState(terminal)
	if err != nil {
		return nil, err
	}
	type answer struct {
		line []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(terminal)
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		return a.line, a.err
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), term.Restore(terminal, state))
	}
}

// tryToken checks that an archive takes tokens, and accepts this one.
func tryToken(ctx context.Context, base, token string) error {
	c := client{address{secret: token}}
	resp, err := c.request(ctx, base, "/api/v1/names?limit=1")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for _, v := range resp.Header.Values("Vary") {
		for name := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(name), "Authorization") {
				return nil
			}
		}
	}
	return fmt.Errorf("the archive at %s takes no tokens: it answers you without one", redacted(base))
}

// redacted returns a URL without its password.
func redacted(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	return u.Redacted()
}

// storeToken writes a token to a file that only its owner may read. It replaces an earlier file as a whole.
func storeToken(file, token string) error {
	f, err := renameio.NewPendingFile(file, renameio.WithTempDir(filepath.Dir(file)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer f.Cleanup() //nolint:errcheck // removes the file if an error is returned, which says more
	if _, err := f.WriteString(token + "\n"); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// refusedAdvice says what to do about a refusal, or "" if there is nothing to add.
func (a *address) refusedAdvice(code int) string {
	if a.proxied {
		return a.cluster.refusedAdvice(code)
	}
	sent, _ := a.token() // an error would have stopped the request
	from := "the environment variable " + tokenVariable
	if a.tokenFile != "" {
		from = a.tokenFile
	}
	switch {
	case code == http.StatusUnauthorized && sent == "":
		return "; run varve login to store a token and name its file with --token-file, or set the environment variable " + tokenVariable
	case code == http.StatusUnauthorized && a.secret == "":
		return "; the archive does not accept the token in " + from + ": get a new one from its administrators, and run varve login"
	case code == http.StatusUnauthorized:
		return "; get a token from the administrators of the archive"
	case code == http.StatusForbidden && sent == "":
		return "; if you have a token, run varve login and name its file with --token-file"
	case code == http.StatusForbidden:
		return "; the archive knows you, but you may not do this: ask its administrators for access"
	}
	return ""
}
