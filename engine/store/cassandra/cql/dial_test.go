package cql

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/test/authority"
)

// dial connects to a listener as the driver connects to a node that it found by its address.
func dial(t *testing.T, l net.Listener, cfg Config) error {
	t.Helper()
	addr := l.Addr().(*net.TCPAddr)
	host, err := gocql.NewHostInfoFromAddrPort(addr.IP, addr.Port)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := cfg.Cluster().HostDialer.DialHost(t.Context(), host)
	if err == nil {
		_ = conn.Conn.Close()
	}
	return err
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// serveTLS accepts connections and completes the TLS handshake with each client.
func serveTLS(t *testing.T, cert tls.Certificate) net.Listener {
	t.Helper()
	l := tls.NewListener(listen(t), &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake() // the client reports the error
			_ = conn.Close()
		}
	}()
	return l
}

func TestNamesInCertificates(t *testing.T) {
	ca := authority.New(t)
	for _, test := range []struct {
		name        string
		certificate []string
		hosts       []string
		serverName  string
		good        bool
	}{
		{name: "the node's address", certificate: []string{"127.0.0.1"}, hosts: []string{"10.9.9.9"}, good: true},
		{name: "another address", certificate: []string{"127.0.0.2"}, hosts: []string{"10.9.9.9"}},
		{name: "the address of a contact point", certificate: []string{"10.9.9.9"}, hosts: []string{"10.9.9.9"}},
		{name: "the name of a contact point", certificate: []string{"cass.example"}, hosts: []string{"10.9.9.9", "cass.example:9042"}, good: true},
		{name: "any name of a zone", certificate: []string{"*.cass.example"}, hosts: []string{"a.cass.example."}, good: true},
		{name: "a strange name", certificate: []string{"cass.example"}, hosts: []string{"other.example"}},
		{name: "the server name", certificate: []string{"cluster"}, hosts: []string{"cass.example"}, serverName: "cluster", good: true},
		{name: "a contact point, not the server name", certificate: []string{"cass.example", "127.0.0.1"}, hosts: []string{"cass.example"}, serverName: "cluster"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := Config{Hosts: test.hosts, Timeout: time.Minute, TLS: func() (*tls.Config, error) {
				return &tls.Config{RootCAs: ca.Pool(), ServerName: test.serverName, MinVersion: tls.VersionTLS12}, nil
			}}
			err := dial(t, serveTLS(t, ca.Certificate(t, test.certificate...)), cfg)
			if (err == nil) != test.good || err != nil && !errors.Is(translate(err), ErrTLS) {
				t.Errorf("dialing a node with a certificate for %v returns %v", test.certificate, err)
			}
			stranger := serveTLS(t, authority.New(t).Certificate(t, test.certificate...))
			if err := dial(t, stranger, cfg); !errors.Is(translate(err), ErrTLS) {
				t.Errorf("dialing a node with a certificate of another authority returns %v", err)
			}
		})
	}
}

// TestHandshakeEnds checks that dialing ends if a node accepts a connection and then hangs.
func TestHandshakeEnds(t *testing.T) {
	cfg := Config{Hosts: []string{"cass.example"}, Timeout: 50 * time.Millisecond, TLS: func() (*tls.Config, error) {
		return &tls.Config{MinVersion: tls.VersionTLS12}, nil
	}}
	var timeout net.Error
	if err := dial(t, listen(t), cfg); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("dialing a node that does not answer returns %v", err)
	}
}

func TestANodeThatIsAwayHidesNoMistake(t *testing.T) {
	var f connectFailures
	refused := errors.New("connection refused")
	for _, step := range []struct{ err, want error }{
		{refused, refused}, {io.EOF, ErrHungUp}, {refused, ErrHungUp}, {tls.RecordHeaderError{Msg: "not TLS"}, ErrTLS}, {io.EOF, ErrTLS},
	} {
		f.ObserveConnect(gocql.ObservedConnect{Err: step.err})
		if err := f.explain(nil); !errors.Is(err, step.want) {
			t.Errorf("after %v the error is %v, want %v", step.err, err, step.want)
		}
	}
}
