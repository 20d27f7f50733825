package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"varve.dev/varve/engine/store/cassandra/cql"
)

// login reads the credentials. It is called at each connection, as a Secret's
// files change while a pod runs.
func (o *storageOptions) login() (username, password string, err error) {
	if username, err = credential("--cassandra-credentials", o.credentials, "username"); err != nil {
		return "", "", err
	}
	password, err = credential("--cassandra-credentials", o.credentials, "password")
	return username, password, err
}

// credential reads one of the credentials in a directory that a flag names. Editors and echo
// end a file with a newline; spaces may be part of a password.
func credential(flag, dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	value := strings.TrimRight(string(text), "\r\n")
	if value == "" {
		return "", fmt.Errorf("%s: %s is empty", flag, path)
	}
	return value, nil
}

// tlsConfig reads the certificates, as login does.
func (o *storageOptions) tlsConfig() (_ *tls.Config, err error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.tlsServerName}
	if o.tlsDir == "" {
		return cfg, nil
	}
	if cfg.RootCAs, err = o.authorities(); err != nil {
		return nil, fmt.Errorf("--cassandra-tls-dir: %w", err)
	}
	if cfg.Certificates, err = o.ownCertificate(); err != nil {
		return nil, fmt.Errorf("--cassandra-tls-dir: %w", err)
	}
	if cfg.RootCAs == nil && cfg.Certificates == nil {
		return nil, fmt.Errorf("--cassandra-tls-dir: %s has neither ca.crt nor tls.crt and tls.key", o.tlsDir)
	}
	return cfg, nil
}

// authorities returns nil, which stands for the system's, if there is no file.
func (o *storageOptions) authorities() (*x509.CertPool, error) {
	path := filepath.Join(o.tlsDir, "ca.crt")
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return pool, nil
}

// ownCertificate returns none if there are no files.
func (o *storageOptions) ownCertificate() ([]tls.Certificate, error) {
	certPath, keyPath := filepath.Join(o.tlsDir, "tls.crt"), filepath.Join(o.tlsDir, "tls.key")
	cert, certErr := os.ReadFile(certPath)
	key, keyErr := os.ReadFile(keyPath)
	noCert, noKey := errors.Is(certErr, os.ErrNotExist), errors.Is(keyErr, os.ErrNotExist)
	switch {
	case noCert && noKey:
		return nil, nil
	case noKey:
		return nil, fmt.Errorf("there is %s, but not its key %s", certPath, keyPath)
	case noCert:
		return nil, fmt.Errorf("there is the key %s, but not its certificate %s", keyPath, certPath)
	case certErr != nil || keyErr != nil:
		return nil, errors.Join(certErr, keyErr)
	}
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certPath, keyPath, err)
	}
	return []tls.Certificate{own}, nil
}

// explain adds to an error of Cassandra which flag is likely to be wrong.
func (o *storageOptions) explain(err error) error {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	hint := ""
	switch {
	case errors.Is(err, cql.ErrCredentials) && o.credentials == "":
		hint = "--cassandra-credentials is not given"
	case errors.Is(err, cql.ErrCredentials), errors.Is(err, cql.ErrForbidden):
		hint = "--cassandra-credentials " + o.credentials
	case errors.Is(err, cql.ErrDatacenter):
		hint = "--cassandra-datacenter " + o.datacenter
	case errors.As(err, &name):
		hint = "--cassandra-tls-server-name says which name to expect"
	case errors.As(err, &authority):
		hint = "--cassandra-tls-dir: ca.crt must have the servers' authority"
	case errors.As(err, &plain):
		hint = "--cassandra-tls: the server does not use TLS at this port"
	case errors.Is(err, cql.ErrHungUp) && !o.tls:
		hint = "--cassandra-tls is not given; the server may expect it"
	case errors.Is(err, cql.ErrTLS), errors.Is(err, cql.ErrHungUp):
		hint = "--cassandra-tls-dir: tls.crt and tls.key must be what the server asks for"
	default:
		return err
	}
	return fmt.Errorf("%w (%s)", err, hint)
}
