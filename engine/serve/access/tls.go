package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
)

// TLS names the files of a server's certificate. They are read again for each connection.
type TLS struct {
	Certificate, Key string
	// ClientCA has the CAs of the certificates of clients. It may be empty.
	ClientCA string
}

func parseTLS(n node) (*TLS, error) {
	fields, err := n.fields("certificate", "key", "clientCA")
	if err != nil {
		return nil, err
	}
	t := &TLS{}
	if err := errors.Join(setText(fields, "certificate", &t.Certificate), setText(fields, "key", &t.Key),
		setText(fields, "clientCA", &t.ClientCA)); err != nil {
		return nil, err
	}
	if t.Certificate == "" || t.Key == "" {
		return nil, n.errorf("the fields certificate and key are required: files in PEM")
	}
	return t, nil
}

// config reads the files.
func (t *TLS) config() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(t.Certificate, t.Key)
	if err != nil {
		return nil, fmt.Errorf("tls: certificate, key: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}}
	if t.ClientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(t.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("tls: clientCA: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("tls: clientCA: %s contains no certificate", t.ClientCA)
	}
	return c, nil
}

// certificates are those of the last connection. If the files cannot be used, the last valid ones stay
// in use.
type certificates struct {
	files *TLS
	log   *slog.Logger

	mu      sync.Mutex
	current *tls.Config
	failing bool
}

func (c *certificates) forConnection(*tls.ClientHelloInfo) (*tls.Config, error) {
	read, err := c.files.config()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.current = read
	} else if !c.failing {
		c.log.Warn("the certificate of the server cannot be read; the last valid one stays in use", "err", err)
	}
	c.failing = err != nil
	return c.current, nil
}

// Listener returns a listener with the certificate of the access file, or l if the file has none. The
// certificate must be valid.
func (c *Config) Listener(l net.Listener, log *slog.Logger) (net.Listener, error) {
	if c.TLS == nil {
		return l, nil
	}
	first, err := c.TLS.config()
	if err != nil {
		return nil, err
	}
	all := &certificates{files: c.TLS, log: log, current: first}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: all.forConnection}), nil
}
