package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// clockTolerance is how far the clocks of two processes may differ. A certificate counts as valid from this long
// before its beginning until this long after its end.
const clockTolerance = 5 * time.Minute

// Reasons why a peer is refused, as labels of metrics.
const (
	reasonPlain     = "plain"     // it does not use TLS
	reasonMissing   = "missing"   // it presents no certificate
	reasonAuthority = "authority" // an unknown authority has signed its certificate, or it is not valid for another reason
	reasonExpired   = "expired"   // its certificate is not valid at this time
	reasonIdentity  = "identity"  // it is another process
	reasonOwn       = "own"       // the own certificate or the own authorities cannot be used
	reasonHandshake = "handshake" // the handshake failed
)

// refusal says why a peer is refused.
type refusal struct {
	reason string
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// verify checks the certificates that a peer presents: an authority must have signed the first one for this
// usage, and it must have one of the wanted names.
func verify(presented []*x509.Certificate, authorities *x509.CertPool, usage x509.ExtKeyUsage, wanted []Name, now time.Time) *refusal {
	if len(presented) == 0 {
		return &refusal{reasonMissing, fmt.Errorf("the peer presents no certificate; wanted: %s", list(wanted))}
	}
	leaf := presented[0]
	o := x509.VerifyOptions{Roots: authorities, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{usage}}
	for _, c := range presented[1:] {
		o.Intermediates.AddCert(c)
	}
	if err := verifyAround(leaf, o, now); err != nil {
		r := &refusal{reasonAuthority, fmt.Errorf("the peer presents the certificate of %s; wanted: %s: %w", describe(leaf), list(wanted), err)}
		var invalid x509.CertificateInvalidError
		if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
			r.reason = reasonExpired
			r.err = fmt.Errorf("%w; the certificate is valid from %s to %s, and the clock of this process says %s", r.err,
				stamp(leaf.NotBefore), stamp(leaf.NotAfter), stamp(now))
		}
		return r
	}
	switch name, err := nameOf(leaf); {
	case err != nil:
		return &refusal{reasonIdentity, fmt.Errorf("%w; wanted: %s", err, list(wanted))}
	case !slices.Contains(wanted, name):
		return &refusal{reasonIdentity, fmt.Errorf("the peer presents the certificate of %s; wanted: %s", describe(leaf), list(wanted))}
	}
	return nil
}

// verifyAround verifies a chain at a time, or within clockTolerance of it.
func verifyAround(leaf *x509.Certificate, o x509.VerifyOptions, now time.Time) (err error) {
	for _, off := range []time.Duration{0, clockTolerance, -clockTolerance} {
		o.CurrentTime = now.Add(off)
		_, again := leaf.Verify(o)
		if again == nil {
			return nil
		}
		if err == nil {
			err = again
		}
	}
	return err
}

// expired reports whether the certificate of a peer has expired.
func expired(leaf *x509.Certificate, now time.Time) bool {
	return now.After(leaf.NotAfter.Add(clockTolerance))
}

func list(names []Name) string {
	var out []string
	for _, n := range names {
		out = append(out, string(n))
	}
	return strings.Join(out, " or ")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
