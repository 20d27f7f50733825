package channelfinder

import (
	"net/http"

	"varve.dev/varve/engine/destination"
)

// Addresses says which addresses a client must not connect to. Authors of ArchiveGroups choose the
// URLs, and the operator reaches addresses that the authors may not reach themselves.
type Addresses = destination.Rules

// NewRestrictedClient returns a client that connects only to allowed addresses.
func NewRestrictedClient(allowed Addresses) *Client {
	allowed.Process, allowed.Advice = "the operator", "give the URL of a ChannelFinder service at another address"
	c := NewClient()
	c.http.Transport.(*http.Transport).DialContext = allowed.Dialer(c.timeout).DialContext
	c.allowed = &allowed
	return c
}

// checkHost checks a host of a URL that is written as an address.
func (c *Client) checkHost(host string) error {
	if c.allowed == nil {
		return nil
	}
	return c.allowed.CheckHost(host)
}
