package identity

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// handshakeTimeout is how long a handshake may take.
const handshakeTimeout = 3 * time.Second

// Dialer opens connections to a server.
type Dialer struct {
	// Party is this process.
	Party *Party
	// Server is the wanted name of the server.
	Server Name
	// Optional also connects without TLS, and to servers whose certificate is wrong.
	Optional bool
	// Net opens TCP connections.
	Net net.Dialer
}

// DialContext opens a connection. The connection uses TLS, so the transport of an http.Client must treat it like
// one without, and its URLs must begin with http:.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := d.Net.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	m, err := d.Party.load()
	if err != nil {
		return d.withoutTLS(raw, err)
	}
	limit, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	c := tls.Client(raw, d.config(m))
	if err = c.HandshakeContext(limit); err == nil {
		return &clientConn{Conn: c, self: d.Party.cfg.Self}, nil
	}
	_ = raw.Close()
	err = fmt.Errorf("TLS handshake with %s at %s: %w", d.Server, addr, err)
	if d.Optional && ctx.Err() == nil {
		if raw, err2 := d.Net.DialContext(ctx, network, addr); err2 == nil {
			return d.withoutTLS(raw, &refusal{reasonHandshake, err})
		}
	}
	if r := (*refusal)(nil); !errors.As(err, &r) { // verify has noted refusals
		d.Party.note(client, &refusal{reasonHandshake, err}, d.Optional)
	}
	return nil, err
}

// withoutTLS returns a connection without TLS if it is allowed, and otherwise closes it and returns why TLS is
// not possible.
func (d *Dialer) withoutTLS(raw net.Conn, why error) (net.Conn, error) {
	r := &refusal{reasonHandshake, why}
	_ = errors.As(why, &r)
	if plain := (tls.RecordHeaderError{}); errors.As(why, &plain) {
		r.reason = reasonPlain
	}
	d.Party.note(client, r, d.Optional)
	if !d.Optional {
		_ = raw.Close()
		return nil, why
	}
	return raw, nil
}

func (d *Dialer) config(m *material) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{m.own},
		// verify checks the chain and the name. The check of crypto/tls needs a host name, which pods do not have.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection: func(cs tls.ConnectionState) error {
			return d.Party.verify(cs, m, client, []Name{d.Server}, d.Optional)
		},
	}
}

// clientConn explains why a server ends a connection: the handshake of TLS 1.3 ends for the client before the
// server has checked the client's certificate.
type clientConn struct {
	*tls.Conn
	self Name
}

func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if remote := (*net.OpError)(nil); errors.As(err, &remote) && remote.Op == "remote error" { // an alert of TLS
		err = fmt.Errorf("the server refuses the certificate of %s; its log says why: %w", c.self, err)
	}
	return n, err
}
