// Command dex is an OpenID Connect issuer for tests: Dex (https://dexidp.io) with two users and one public client.
// It keeps everything in memory. Dex's own program needs a C compiler or a database; this one needs only the Go
// module proxy, and its go.sum pins all dependencies.
//
//	dex -client varve -redirect http://127.0.0.1:1234/login   prints the URL of the issuer
//
// The users are ann of the group vacuum and bob of the group staff. Their password is "secret".
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/dexidp/dex/connector"
	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
)

// groups are the groups of each user.
var groups = map[string][]string{"ann": {"vacuum"}, "bob": {"staff"}}

const (
	password = "secret"
	// kind is the name of the connector to Dex.
	kind = "users"
)

// users is a connector: the part of Dex that checks passwords.
type users struct{}

// Open implements server.ConnectorConfig.
func (*users) Open(string, *slog.Logger) (connector.Connector, error) { return &users{}, nil }

// Prompt implements connector.PasswordConnector.
func (*users) Prompt() string { return "User" }

// Login implements connector.PasswordConnector.
func (*users) Login(_ context.Context, _ connector.Scopes, name, given string) (connector.Identity, bool, error) {
	of, known := groups[name]
	if !known || given != password {
		return connector.Identity{}, false, nil
	}
	return connector.Identity{
		UserID: name, Username: name, PreferredUsername: name, Email: name + "@example.org", EmailVerified: true, Groups: of,
	}, true, nil
}

// Refresh implements connector.RefreshConnector.
func (*users) Refresh(_ context.Context, _ connector.Scopes, id connector.Identity) (connector.Identity, error) {
	return id, nil
}

func main() {
	client := flag.String("client", "varve", "the ID of the client")
	redirect := flag.String("redirect", "", "the URL to which the client lets browsers return")
	listen := flag.String("listen", "127.0.0.1:0", "the address to serve HTTP at")
	flag.Parse()
	if err := run(*client, *redirect, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "dex:", err)
		os.Exit(1)
	}
}

func run(client, redirect, listen string) error {
	back, err := url.Parse(redirect)
	if err != nil || back.Host == "" {
		return fmt.Errorf("-redirect: %q is not a URL", redirect)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	issuer := "http://" + l.Addr().String() + "/dex"
	handler, err := newServer(issuer, storage.Client{
		ID: client, Name: "Varve", Public: true, RedirectURIs: []string{redirect},
	}, back.Scheme+"://"+back.Host)
	if err != nil {
		return err
	}
	fmt.Println(issuer)
	return (&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}).Serve(l)
}

// newServer returns the issuer with one client, whose pages have an origin.
func newServer(issuer string, client storage.Client, origin string) (http.Handler, error) {
	ctx, log := context.Background(), slog.New(slog.NewTextHandler(os.Stderr, nil))
	server.ConnectorsConfig[kind] = func() server.ConnectorConfig { return &users{} }
	config, err := json.Marshal(users{})
	if err != nil {
		return nil, err
	}
	store := memory.New(log)
	if err := store.CreateConnector(ctx, storage.Connector{ID: kind, Type: kind, Name: "Users", Config: config}); err != nil {
		return nil, err
	}
	if err := store.CreateClient(ctx, client); err != nil {
		return nil, err
	}
	const lifetime = time.Hour
	keys, err := (&signer.LocalConfig{KeysRotationPeriod: "6h"}).Open(ctx, store, lifetime, time.Now, log)
	if err != nil {
		return nil, err
	}
	rotate, err := server.NewRefreshTokenPolicy(log, false, "", "", "")
	if err != nil {
		return nil, err
	}
	return server.NewServer(ctx, server.Config{
		Issuer: issuer, Storage: store, Signer: keys, RefreshTokenPolicy: rotate, IDTokensValidFor: lifetime,
		AllowedOrigins: []string{origin}, SkipApprovalScreen: true, Logger: log,
	})
}
