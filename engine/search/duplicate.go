package search

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// duplicateInterval is the least time between two log lines about PVs on two servers.
const duplicateInterval = 10 * time.Second

// Duplicates reports PVs that two servers have. The client's lock guards it.
type Duplicates struct {
	Log   *slog.Logger
	Found prometheus.Counter

	logged   time.Time
	unlogged int // found since then, and not logged
}

// Report notes that a server other than the used one answered for a name. The client
// keeps the first answer. Each pair of servers counts once per name, and the log has
// one line per duplicateInterval. A server with two addresses may look like two.
func (d *Duplicates) Report(e *Entry, used, other netip.AddrPort) {
	if other == used || other == e.duplicate {
		return // the same answer to a repeated search
	}
	e.duplicate = other
	d.Found.Inc()
	now := time.Now()
	if now.Sub(d.logged) < duplicateInterval {
		d.unlogged++
		return
	}
	d.Log.Info("PV found on two servers", "pv", e.Name, "used", used, "ignored", other, "others_since_last", d.unlogged)
	d.logged, d.unlogged = now, 0
}
