package pva

import "time"

// rivalInterval is the least time between two log lines about PVs on two servers.
const rivalInterval = 10 * time.Second

// rivals limits what is logged of PVs that two servers have.
type rivals struct {
	logged time.Time
	silent int // found since, and not logged
}

// rivalLocked notes that a server answered for a channel that is on a circuit. The
// first answer is kept. Another server is reported once for each channel, and in the
// log every now and then; another address of the same server is not.
func (c *Client) rivalLocked(ch *channel, a answer) {
	used := ch.circuit
	if a.server == used.server || a.guid == used.guid || a.server == ch.rival {
		return
	}
	ch.rival = a.server
	c.metrics.duplicates.Inc()
	now := time.Now()
	if now.Sub(c.rivals.logged) < rivalInterval {
		c.rivals.silent++
		return
	}
	c.config.Log.Warn("PV found on two servers", "pv", ch.search.Name,
		"used", used.server, "ignored", a.server, "others_since_last", c.rivals.silent)
	c.rivals = rivals{logged: now}
}
