// Package authority makes certificates for tests.
//
//	New ──▶ Authority ── Issue ──▶ certificate and key, in PEM
//	                  ── Secret ──▶ the files of a client
//	                  ── Certificate, Pool ──▶ the same for package tls
//
// Certificates are valid for an hour, except those of IssueBetween. The package stores none of them.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// New returns an authority with a self-signed certificate.
func New(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{key: newKey(tb)}
	a.cert = a.sign(tb, &a.key.PublicKey, &x509.Certificate{
		// Two authorities in one test have different names, as in production.
		Subject: pkix.Name{CommonName: "authority " + rand.Text()}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	return a
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// sign completes and signs a certificate. If the authority has no certificate yet, the new one
// is self-signed.
func (a *Authority) sign(tb testing.TB, key *ecdsa.PublicKey, c *x509.Certificate) *x509.Certificate {
	tb.Helper()
	c.SerialNumber = new(big.Int).SetBytes([]byte(rand.Text()[:16]))
	if c.NotAfter.IsZero() {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	return c
}

// PEM returns the authority's own certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.cert.Raw) }

// Issue returns a new certificate and its key. hosts are names, IP addresses or URIs. Servers and
// clients can use the certificate.
func (a *Authority) Issue(tb testing.TB, hosts ...string) (cert, key []byte) {
	tb.Helper()
	return a.IssueBetween(tb, time.Time{}, time.Time{}, hosts...)
}

// IssueBetween is Issue with a validity.
func (a *Authority) IssueBetween(tb testing.TB, from, to time.Time, hosts ...string) (cert, key []byte) {
	tb.Helper()
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: "varve"}, KeyUsage: x509.KeyUsageDigitalSignature, NotBefore: from, NotAfter: to,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		uri, err := url.Parse(h)
		switch ip := net.ParseIP(h); {
		case ip != nil:
			c.IPAddresses = append(c.IPAddresses, ip)
		case err == nil && uri.Scheme == "spiffe":
			c.URIs = append(c.URIs, uri)
		default:
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	own := newKey(tb)
	if a.cert == nil {
		own = a.key // see SelfSigned
	}
	der, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		tb.Fatal(err)
	}
	return encode("CERTIFICATE", a.sign(tb, &own.PublicKey, c).Raw), encode("PRIVATE KEY", der)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Secret returns the files that a client needs, by their names in a Kubernetes Secret.
func (a *Authority) Secret(tb testing.TB, hosts ...string) map[string]string {
	tb.Helper()
	cert, key := a.Issue(tb, hosts...)
	return map[string]string{"ca.crt": string(a.PEM()), "tls.crt": string(cert), "tls.key": string(key)}
}

// Certificate returns a new certificate for hosts, with its key.
func (a *Authority) Certificate(tb testing.TB, hosts ...string) tls.Certificate {
	tb.Helper()
	own, err := tls.X509KeyPair(a.Issue(tb, hosts...))
	if err != nil {
		tb.Fatal(err)
	}
	return own
}

// Pool returns a pool in which this authority is the only trusted one.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// SelfSigned returns a certificate for hosts that signs itself, with its key.
func SelfSigned(tb testing.TB, hosts ...string) tls.Certificate {
	tb.Helper()
	return (&Authority{key: newKey(tb)}).Certificate(tb, hosts...)
}
