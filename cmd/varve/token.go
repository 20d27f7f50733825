package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve.dev/varve/engine/serve/access"
)

// tokenVariable is the environment variable with the token of client commands.
const tokenVariable = "VARVE_TOKEN"

// maxExpiry is the longest validity of a new token.
const maxExpiry = 10 * 365 * 24 * time.Hour

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make tokens for readers",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenCreate())
	return cmd
}

func newTokenCreate() *cobra.Command {
	var name, groups string
	expires := age("90d")
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a token, and the line of it for the archive",
		Long: `Makes a token and prints it to stderr, once: give it to the reader. Prints the line for the file of
tokens to stdout. The line has only a hash of the token. The archive reads the file again after a
change.`,
		Example: `  varve token create --name ann --groups vacuum,staff --expires 90d >> tokens
  export VARVE_TOKEN=varve_…   # the reader`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			until := time.Time{}
			if d := expires.duration(); d > 0 {
				if d > maxExpiry {
					return fmt.Errorf("--expires: %s is more than 10 years; 0s: forever", expires)
				}
				until = time.Now().Add(d)
			}
			var list []string
			if groups != "" {
				list = strings.Split(groups, ",")
			}
			secret, line, err := access.NewToken(name, list, until)
			if err != nil {
				return fmt.Errorf("--name, --groups: %w", err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "The token of %s, which is shown only now:\n%s\n", name, secret)
			_, err = fmt.Fprintln(cmd.OutOrStdout(), line)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "name of the reader, which is unique in the file (required)")
	f.StringVar(&groups, "groups", "", "groups of the reader, separated by commas")
	f.Var(&expires, "expires", "how long the token is valid, such as 90d; 0s: forever")
	_ = cmd.MarkFlagRequired("name")
	return cmd
}

// token returns the secret, or the token of --token-file or of the environment, or "".
func (a *address) token() (string, error) {
	if a.secret != "" {
		return a.secret, nil
	}
	if a.tokenFile == "" {
		return checkToken(tokenVariable, os.Getenv(tokenVariable))
	}
	text, err := os.ReadFile(a.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", fmt.Errorf("--token-file: %s is empty", a.tokenFile)
	}
	return checkToken("--token-file", string(text))
}

func checkToken(source, text string) (string, error) {
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: the token has a space or a character that is not ASCII", source)
	}
	return text, nil
}

// authorize adds the token to a request.
func (a *address) authorize(req *http.Request) error {
	if a.proxied { // the API server gets the credentials of the kubeconfig
		if a.tokenFile != "" {
			return errors.New("--token-file: the token does not pass through the API server; forward the port with kubectl port-forward, and give --url")
		}
		return nil
	}
	token, err := a.token()
	if err != nil || token == "" {
		return err
	}
	if req.URL.User != nil {
		return fmt.Errorf("--url: it has a password, but there is also a token; remove one of them (%s, --token-file)", tokenVariable)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}
