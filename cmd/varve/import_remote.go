package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"varve.dev/varve/engine/migration/appliance"
	"varve.dev/varve/engine/migration/pvarchiver"
	"varve.dev/varve/engine/serve/request"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/upstream"
)

// remoteOptions are the flags for archives that are reached over the network, except for databases with SQL.
type remoteOptions struct {
	credentials, keyspace, tlsDir string
	tls                           bool
}

// archiverKeyspace is the keyspace of a Cassandra PV Archiver by default.
const archiverKeyspace = "pv_archive"

func (o *remoteOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.credentials, "source-credentials", "",
		"appliance-http, cassandra-archiver: directory with the files username and password or, for appliance-http, the file token")
	f.StringVar(&o.keyspace, "source-keyspace", archiverKeyspace, "cassandra-archiver: keyspace of the archiver")
	f.BoolVar(&o.tls, "source-tls", false, "cassandra-archiver: use TLS and verify the servers' certificates")
	f.StringVar(&o.tlsDir, "source-tls-dir", "", "cassandra-archiver: directory with ca.crt (default: the system's CAs), and with tls.crt and tls.key if the servers require a client certificate")
}

// check returns an error if a flag is not one for the kind of the source.
func (o *remoteOptions) check(from string) error {
	switch {
	case from != fromHTTP && from != fromCassandra && o.credentials != "":
		return errors.New("--source-credentials is for --from appliance-http and cassandra-archiver only")
	case from != fromCassandra && (o.keyspace != archiverKeyspace || o.tls || o.tlsDir != ""):
		return errors.New("--source-keyspace, --source-tls and --source-tls-dir are for --from cassandra-archiver only")
	case o.tlsDir != "" && !o.tls:
		return errors.New("--source-tls-dir requires --source-tls")
	}
	return nil
}

// openHTTP opens an Archiver Appliance. If there are names, the server is not asked for its list.
func (o *remoteOptions) openHTTP(ctx context.Context, address string, want request.Matcher, names []string) (*importSource, error) {
	base, err := baseURL(address)
	if err != nil {
		return nil, fmt.Errorf("the address %q %w; write it like http://appliance:17668/retrieval", address, err)
	}
	archive := &upstream.Appliance{}
	if archive.Base, err = url.Parse(base + "/retrieval"); err != nil {
		return nil, err
	}
	if o.credentials != "" {
		archive.Authorize = func(r *http.Request) error { return authorizeFrom("--source-credentials", o.credentials, r) }
		if err := archive.Authorize(&http.Request{Header: http.Header{}}); err != nil {
			return nil, err
		}
	}
	// The default transport lists too few idle connections per host for several readers, and follows redirects anywhere.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = maxReaders
	archive.Client = &http.Client{Transport: transport, CheckRedirect: stayOnHost}
	src, err := appliance.Open(ctx, appliance.Options{Archive: archive, Names: names, Want: want})
	if err != nil {
		transport.CloseIdleConnections()
		return nil, err
	}
	return &importSource{
		Source: src, skipped: src.Skipped, lines: "ranges", things: "names", workers: min(runtime.GOMAXPROCS(0), maxReaders),
		close: func() error { transport.CloseIdleConnections(); return nil },
	}, nil
}

// stayOnHost refuses redirects to another host, which would get the names of the PVs.
func stayOnHost(req *http.Request, via []*http.Request) error {
	if first := via[0].URL; req.URL.Scheme != first.Scheme || req.URL.Host != first.Host || len(via) > 3 {
		return fmt.Errorf("the server redirects to %s; give the address of the archive itself", req.URL.Redacted())
	}
	return nil
}

// openCassandra opens a Cassandra PV Archiver.
func (o *remoteOptions) openCassandra(ctx context.Context, hosts string, want request.Matcher) (*importSource, error) {
	cfg := cql.Config{Hosts: strings.Split(hosts, ","), Keyspace: o.keyspace}
	if o.credentials != "" {
		cfg.Login = func() (username, password string, err error) {
			if username, err = credential("--source-credentials", o.credentials, "username"); err == nil {
				password, err = credential("--source-credentials", o.credentials, "password")
			}
			return username, password, err
		}
		if _, _, err := cfg.Login(); err != nil {
			return nil, err
		}
	}
	if o.tls {
		cfg.TLS = o.tlsConfig
		if _, err := o.tlsConfig(); err != nil {
			return nil, err
		}
	}
	src, err := pvarchiver.Open(ctx, pvarchiver.Options{Cluster: cfg, Want: want})
	if err != nil {
		return nil, err
	}
	return &importSource{Source: src, skipped: src.Skipped, lines: "rows", things: "channels", workers: min(runtime.GOMAXPROCS(0), maxReaders), close: src.Close}, nil
}

// tlsConfig reads the certificates.
func (o *remoteOptions) tlsConfig() (_ *tls.Config, err error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.tlsDir == "" {
		return cfg, nil
	}
	files := storageOptions{tlsDir: o.tlsDir}
	if cfg.RootCAs, err = files.authorities(); err == nil {
		cfg.Certificates, err = files.ownCertificate()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("--source-tls-dir: %w", err)
	case cfg.RootCAs == nil && cfg.Certificates == nil:
		return nil, fmt.Errorf("--source-tls-dir: %s contains neither ca.crt nor tls.crt and tls.key", o.tlsDir)
	}
	return cfg, nil
}
