package cql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// dialer creates connections, with or without TLS. The driver finds most nodes by address,
// even if the contact points are names. The dialer therefore accepts a node's certificate if
// it has the node's address or the name of a contact point. If the configuration has a
// ServerName, the certificate must have that name.
type dialer struct {
	tls     func() (*tls.Config, error) // nil for none
	names   []string                    // of contact points
	timeout time.Duration
}

func (c *Config) dialer() dialer {
	return dialer{tls: c.TLS, names: contactNames(c.Hosts), timeout: c.Timeout}
}

// DialHost implements gocql.HostDialer.
func (d *dialer) DialHost(ctx context.Context, host *gocql.HostInfo) (*gocql.DialedHost, error) {
	// The driver sets no time-out, and a node that hangs still accepts connections.
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", host.ConnectAddressAndPort())
	if err != nil || d.tls == nil {
		return &gocql.DialedHost{Conn: plain}, err
	}
	cfg, err := d.tls()
	if err != nil {
		_ = plain.Close()
		return nil, err
	}
	if cfg.ServerName == "" {
		cfg = expectOneOf(cfg, append([]string{host.ConnectAddress().String()}, d.names...))
	}
	conn := tls.Client(plain, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, fmt.Errorf("TLS with %s: %w", plain.RemoteAddr(), err)
	}
	return &gocql.DialedHost{Conn: conn, DisableCoalesce: true}, nil
}

// expectOneOf returns a configuration that accepts a certificate with any of the names.
// Package tls itself checks only one name.
func expectOneOf(cfg *tls.Config, names []string) *tls.Config {
	cfg = cfg.Clone()
	cfg.InsecureSkipVerify = true // VerifyConnection checks the same, and is never skipped
	cfg.VerifyConnection = func(s tls.ConnectionState) error {
		if err := verify(s.PeerCertificates, cfg.RootCAs, names); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err}
		}
		return nil
	}
	return cfg
}

// verify checks a certificate chain as package tls does, but accepts any of several names.
func verify(chain []*x509.Certificate, roots *x509.CertPool, names []string) error {
	opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
	for _, c := range chain[1:] {
		opts.Intermediates.AddCert(c)
	}
	if _, err := chain[0].Verify(opts); err != nil {
		return err
	}
	for _, name := range names {
		if chain[0].VerifyHostname(name) == nil {
			return nil
		}
	}
	return x509.HostnameError{Certificate: chain[0], Host: strings.Join(names, " or ")}
}

// contactNames returns the hosts that are names and not addresses.
func contactNames(hosts []string) (names []string) {
	for _, h := range hosts {
		if host, _, err := net.SplitHostPort(h); err == nil {
			h = host
		}
		if net.ParseIP(h) == nil {
			names = append(names, h)
		}
	}
	return names
}
