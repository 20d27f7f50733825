package identity

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

// Listener returns a listener that accepts only connections of these clients. If optional is set, it accepts
// everybody, with TLS and without, and only counts the others.
func (p *Party) Listener(l net.Listener, optional bool, clients ...Name) net.Listener {
	s := &tlsListener{Listener: l, party: p, optional: optional}
	s.config = &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, // each connection is checked
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return p.serverConfig(optional, clients) },
	}
	return s
}

// serverConfig returns the configuration for one connection.
func (p *Party) serverConfig(optional bool, clients []Name) (*tls.Config, error) {
	m, err := p.load()
	if err != nil {
		p.note(server, &refusal{reasonOwn, err}, optional)
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, Certificates: []tls.Certificate{m.own},
		// verify refuses clients without a certificate, and logs the reason.
		ClientAuth: tls.RequestClientCert,
		VerifyConnection: func(cs tls.ConnectionState) error {
			return p.verify(cs, m, server, clients, optional)
		},
	}, nil
}

var plainRefusal = &refusal{reasonPlain, errors.New("the client does not use TLS; it needs a certificate")}

type tlsListener struct {
	net.Listener
	party    *Party
	config   *tls.Config
	optional bool
}

// Accept returns a connection that has not begun its handshake. In a http.Server, the handshake is part of reading the
// first request.
func (l *tlsListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if l.optional {
		return &eitherConn{Conn: raw, listener: l}, nil
	}
	return tls.Server(&firstByte{Conn: raw, plain: func() { l.party.note(server, plainRefusal, false) }}, l.config), nil
}

// firstByte calls plain if the first byte of a connection begins no handshake of TLS.
type firstByte struct {
	net.Conn
	plain func()
	read  bool
}

// handshakeRecord is the first byte of a connection with TLS.
const handshakeRecord = 0x16

func (c *firstByte) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.read {
		if c.read = true; b[0] != handshakeRecord {
			c.plain()
		}
	}
	return n, err
}

// eitherConn is a connection with or without TLS, by its first byte.
type eitherConn struct {
	net.Conn
	listener *tlsListener

	once  sync.Once
	err   error
	inner net.Conn // set by the first Read
}

// Read begins the connection. A server reads before it writes.
func (c *eitherConn) Read(b []byte) (int, error) {
	c.once.Do(c.begin)
	if c.err != nil {
		return 0, c.err
	}
	return c.inner.Read(b)
}

func (c *eitherConn) begin() {
	var one [1]byte
	if _, c.err = c.Conn.Read(one[:]); c.err != nil {
		return
	}
	c.inner = &returned{Conn: c.Conn, first: one[:]}
	if one[0] == handshakeRecord {
		c.inner = tls.Server(c.inner, c.listener.config)
		return
	}
	c.listener.party.note(server, plainRefusal, true)
}

// Write writes to the connection.
func (c *eitherConn) Write(b []byte) (int, error) {
	if c.inner == nil { // nothing was read: a server that ends a silent connection
		return c.Conn.Write(b)
	}
	return c.inner.Write(b)
}

// returned is a connection with the bytes that were already read from it.
type returned struct {
	net.Conn
	first []byte
}

func (c *returned) Read(b []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.first)
	c.first = c.first[n:]
	return n, nil
}

// Renew closes the connection of a client whose certificate has expired, so that the client connects again with its
// new one. Otherwise an open connection would extend the validity of a certificate for ever.
func (p *Party) Renew(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && expired(r.TLS.PeerCertificates[0], p.cfg.Now()) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
