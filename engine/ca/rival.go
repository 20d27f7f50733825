package ca

import (
	"net/netip"
	"time"
)

// rivalInterval is the least time between two log lines about PVs on two servers.
const rivalInterval = 10 * time.Second

// rivals limits what is logged of PVs that two servers have.
type rivals struct {
	logged time.Time
	silent int // found since, and not logged
}

// rivalLocked notes that a server answered for a channel that is on a circuit. The
// first answer is kept. A pair of servers is reported once for each channel, and in
// the log every now and then; a server with two addresses looks like two.
func (c *Client) rivalLocked(ch *channel, server netip.AddrPort) {
	used := ch.circuit.server
	if server == used || server == ch.rival {
		return // the same answer to a repeated search
	}
	ch.rival = server
	c.metrics.duplicates.Inc()
	now := time.Now()
	if now.Sub(c.rivals.logged) < rivalInterval {
		c.rivals.silent++
		return
	}
	c.config.Log.Info("PV found on two servers",
		"pv", ch.name, "used", used, "ignored", server, "others_since_last", c.rivals.silent)
	c.rivals = rivals{logged: now}
}
