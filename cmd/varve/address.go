package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// defaultURL is the URL of an archive at the default address.
const defaultURL = "http://127.0.0.1:17665"

// urlVariable is the environment variable with the default of --url.
const urlVariable = "VARVE_URL"

// address is the URL of an archive, from --url or from the environment, and the token for it.
type address struct {
	text, tokenFile string
	// secret is the token itself. If it is "", the token is in tokenFile or in the environment.
	secret string
	// cluster is the archive of the plugin of kubectl, or nil. proxied means that requests go to it, through the API server.
	cluster *clusterArchive
	proxied bool
}

func (a *address) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.text, "url", "", fmt.Sprintf("URL of the archive (default: the environment variable %s, or %s)", urlVariable, defaultURL))
	f.StringVar(&a.tokenFile, "token-file", "", "file with the token for the archive (default: the token in the environment variable "+tokenVariable+", if any)")
}

// base returns the URL of the archive, without a slash at its end.
func (a *address) base(cmd *cobra.Command) (string, error) {
	if a.cluster != nil && !cmd.Flags().Changed("url") {
		a.proxied = true
		err := a.cluster.open(cmd.Context())
		return a.cluster.base, err
	}
	source, text := "--url", a.text
	if !cmd.Flags().Changed("url") {
		source, text = urlVariable, cmp.Or(os.Getenv(urlVariable), defaultURL)
	}
	base, err := baseURL(text)
	if err != nil {
		return "", fmt.Errorf("%s: %q %w; write it like %s", source, text, err, defaultURL)
	}
	return base, nil
}

// clientSchemes begin the URLs in the settings of Phoebus.
var clientSchemes = []string{"pbraw", "json", "xnds"}

// apiPaths begin the paths that the server serves. People copy them from the settings of other
// clients.
var apiPaths = []string{"/retrieval", "/mgmt", "/api/v1", "/archive-access"}

// baseURL returns the URL of an archive. It accepts HOST:PORT, and URLs with a path of the
// archive, which it cuts off.
func baseURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	scheme, _, found := strings.Cut(text, ":")
	switch {
	case text == "":
		return "", errors.New("is empty")
	case found && slices.Contains(clientSchemes, strings.ToLower(scheme)):
		return "", fmt.Errorf("is a URL for Phoebus: varve reads from the same server by http")
	case !strings.Contains(text, "://"):
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("begins with %s: only http and https are possible", u.Scheme)
	case u.Hostname() == "":
		return "", errors.New("has no host")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("has parameters")
	}
	if _, err := net.LookupPort("tcp", cmp.Or(u.Port(), "80")); err != nil {
		return "", fmt.Errorf("has the port %s", u.Port())
	}
	return strings.TrimRight(u.Scheme+"://"+userinfo(u)+u.Host+cutAPI(u.EscapedPath()), "/"), nil
}

func userinfo(u *url.URL) string {
	if u.User == nil {
		return ""
	}
	return u.User.String() + "@"
}

// cutAPI cuts a path of the archive off the end of a path. It keeps what is before it, such as the
// path of a reverse proxy.
func cutAPI(path string) string {
	for _, api := range apiPaths {
		if i := strings.Index(path+"/", api+"/"); i >= 0 {
			path = path[:i]
		}
	}
	return path
}
