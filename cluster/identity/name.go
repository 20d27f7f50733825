package identity

import (
	"crypto/x509"
	"fmt"
	"strings"
)

// Name is the identity of a process: the only URI in its certificate.
type Name string

const trustDomain = "spiffe://varve/"

// Of returns the name of a component of an Archiver, such as engine.
func Of(namespace, archiver, component string) Name {
	return Name(trustDomain + namespace + "/" + archiver + "/" + component)
}

// Operator returns the name of the operator in a namespace.
func Operator(namespace string) Name { return Name(trustDomain + namespace + "/operator") }

// nameOf returns the name in a certificate.
func nameOf(c *x509.Certificate) (Name, error) {
	switch len(c.URIs) {
	case 0:
		return "", fmt.Errorf("the certificate %s has no URI; it must have one that begins with %s", describe(c), trustDomain)
	case 1:
		return Name(c.URIs[0].String()), nil
	}
	return "", fmt.Errorf("the certificate %s has %d URIs; it must have exactly one", describe(c), len(c.URIs))
}

// describe returns a short text that helps to find a certificate. Its names are quoted and cut, because
// anybody can write them.
func describe(c *x509.Certificate) string {
	const most = 200
	who := c.Subject.String()
	if len(c.URIs) > 0 {
		who = c.URIs[0].String()
	}
	if len(who) > most {
		who = strings.ToValidUTF8(who[:most], "") + "…"
	}
	return fmt.Sprintf("%q", who)
}
