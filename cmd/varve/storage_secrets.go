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

// login reads the credentials. It is called for each connection, because the files of a Secret
// change while a pod runs.
func (o *storageOptions) login() (username, password string, err error) {
	if username, err = credential("--cassandra-credentials", o.credentials, "username"); err != nil {
		return "", "", err
	}
	password, err = credential("--cassandra-credentials", o.credentials, "password")
	return username, password, err
}

// credential reads a credential from a file in a directory. It removes the newline that editors
// and echo append, but not spaces, which may be part of a password.
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

// tlsConfig reads the certificates for each connection, like login.
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
		return nil, fmt.Errorf("--cassandra-tls-dir: %s contains neither ca.crt nor tls.crt and tls.key", o.tlsDir)
	}
	return cfg, nil
}

// authorities returns the CAs in ca.crt, or nil for the system's CAs if there is no file.
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
		return nil, fmt.Errorf("%s contains no certificate", path)
	}
	return pool, nil
}

// ownCertificate returns the client certificate, or none if there are no files.
func (o *storageOptions) ownCertificate() ([]tls.Certificate, error) {
	certPath, keyPath := filepath.Join(o.tlsDir, "tls.crt"), filepath.Join(o.tlsDir, "tls.key")
	cert, certErr := os.ReadFile(certPath)
	key, keyErr := os.ReadFile(keyPath)
	noCert, noKey := errors.Is(certErr, os.ErrNotExist), errors.Is(keyErr, os.ErrNotExist)
	switch {
	case noCert && noKey:
		return nil, nil
	case noKey:
		return nil, fmt.Errorf("%s exists, but its key %s is missing", certPath, keyPath)
	case noCert:
		return nil, fmt.Errorf("key %s exists, but its certificate %s is missing", keyPath, certPath)
	case certErr != nil || keyErr != nil:
		return nil, errors.Join(certErr, keyErr)
	}
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certPath, keyPath, err)
	}
	return []tls.Certificate{own}, nil
}

// explain adds the flag that is probably wrong to an error of Cassandra.
func (o *storageOptions) explain(err error) error {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	hint := ""
	switch {
	case errors.Is(err, cql.ErrCredentials) && o.credentials == "":
		hint = "--cassandra-credentials is not set"
	case errors.Is(err, cql.ErrCredentials), errors.Is(err, cql.ErrForbidden):
		hint = "check --cassandra-credentials " + o.credentials
	case errors.Is(err, cql.ErrDatacenter):
		hint = "check --cassandra-datacenter " + o.datacenter
	case errors.As(err, &name):
		hint = "set --cassandra-tls-server-name to the name in the certificate"
	case errors.As(err, &authority):
		hint = "--cassandra-tls-dir: ca.crt must contain the CA of the servers"
	case errors.As(err, &plain):
		hint = "--cassandra-tls is set, but the server does not use TLS on this port"
	case errors.Is(err, cql.ErrHungUp) && !o.tls:
		hint = "--cassandra-tls is not set, but the server may require it"
	case errors.Is(err, cql.ErrTLS), errors.Is(err, cql.ErrHungUp):
		hint = "--cassandra-tls-dir: the server may require another client certificate in tls.crt and tls.key"
	default:
		return err
	}
	return fmt.Errorf("%w (%s)", err, hint)
}
