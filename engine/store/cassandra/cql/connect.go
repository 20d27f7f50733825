package cql

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Connect opens a session. If probing is true, it also records why established connections
// end, so that the error is more precise.
func (c *Config) Connect(cluster *gocql.ClusterConfig, probing bool) (*gocql.Session, error) {
	failures := &connectFailures{}
	cluster.ConnectObserver = failures
	if probing {
		cluster.HostDialer = &notingDialer{c.dialer(), failures}
	}
	session, err := cluster.CreateSession()
	switch {
	case err != nil && strings.Contains(err.Error(), "host was filtered"):
		return nil, fmt.Errorf("connecting to Cassandra: the hosts of %s that answer are in another datacenter",
			strings.Join(cluster.Hosts, ", "))
	case err != nil:
		return nil, fmt.Errorf("connecting to Cassandra at %s: %w", strings.Join(cluster.Hosts, ", "), failures.explain(err))
	}
	return session, nil
}

// connectFailures records why connections failed, because the driver's own error contains the
// reason only as text.
type connectFailures struct {
	mu   sync.Mutex
	last error
}

// ObserveConnect implements gocql.ConnectObserver. A failure that an administrator must fix
// takes precedence over another node that is unreachable.
func (f *connectFailures) ObserveConnect(o gocql.ObservedConnect) {
	if o.Err != nil {
		f.note(translate(o.Err))
	}
}

func (f *connectFailures) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rank(err) >= rank(f.last) {
		f.last = err
	}
}

// explain returns why no session could be created. It returns the driver's error if the driver
// did not try to connect.
func (f *connectFailures) explain(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil {
		return f.last
	}
	return err
}

// notingDialer creates connections that record why they end. If a node ends a connection, the
// driver's error often says only that no node answered.
type notingDialer struct {
	dialer
	failures *connectFailures
}

// DialHost implements gocql.HostDialer.
func (d *notingDialer) DialHost(ctx context.Context, host *gocql.HostInfo) (*gocql.DialedHost, error) {
	h, err := d.dialer.DialHost(ctx, host)
	if err == nil {
		h.Conn = &notingConn{h.Conn, d.failures}
	}
	return h, err
}

type notingConn struct {
	net.Conn
	failures *connectFailures
}

// Read implements net.Conn.
func (c *notingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.note(err)
	return n, err
}

// Write implements net.Conn.
func (c *notingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.note(err)
	return n, err
}

func (c *notingConn) note(err error) {
	if err == nil {
		return
	}
	if err = translate(err); rank(err) > 0 {
		c.failures.note(err)
	}
}

// rank returns the rank of a failed connection's error. Permanent failures rank above failures
// that may come from a wrong configuration, and those rank above all others.
func rank(err error) int {
	switch {
	case errors.Is(err, ErrCredentials), errors.Is(err, ErrTLS):
		return 2
	case errors.Is(err, ErrHungUp):
		return 1
	}
	return 0
}

// translate turns the error of a connection into an error of this package. It returns other
// errors unchanged.
func translate(err error) error {
	var refused gocql.RequestError
	switch {
	case errors.As(err, &refused) && refused.Code() == gocql.ErrCodeCredentials && !unknowing(refused):
		return fmt.Errorf("%w: %s", ErrCredentials, refused.Message())
	case strings.Contains(err.Error(), "authentication required"):
		return fmt.Errorf("%w: no user name and password are configured", ErrCredentials)
	case ofTLS(err):
		return fmt.Errorf("%w: %w", ErrTLS, err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("%w: %w", ErrHungUp, err)
	}
	return err
}

// unknowing reports whether a node refuses a user only because it cannot read the user's entry
// at the moment: too few replicas of system_auth are up.
func unknowing(refused gocql.RequestError) bool {
	return strings.HasPrefix(refused.Message(), "Unable to perform auth")
}

// ofTLS reports whether an error is about certificates or TLS. With TLS 1.3 a node refuses a
// client's certificate only after the handshake.
func ofTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var op *net.OpError
	return errors.As(err, &certificate) || errors.As(err, &noTLS) ||
		errors.As(err, &op) && op.Op == "remote error" // the peer sent a TLS alert
}

// Permitted replaces the error of a statement that the user may not run by ErrForbidden.
func Permitted(err error) error {
	var refused gocql.RequestError
	if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeUnauthorized && !unknowing(refused) {
		return fmt.Errorf("%w: %s", ErrForbidden, refused.Message())
	}
	return err
}
