package search

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// duplicateInterval is the minimum time between two log lines about duplicate servers.
const duplicateInterval = 10 * time.Second

// Duplicates reports PVs for which two servers answer. The client's lock guards it.
type Duplicates struct {
	Log   *slog.Logger
	Found prometheus.Counter

	logged   time.Time
	unlogged int // number found since then, but not logged
}

// Report records that another server than the used one answered for a name. The client uses
// the first answer. Consecutive answers of the same other server count once per name. Report
// logs at most one line per duplicateInterval. A server with two addresses may look like two
// servers.
func (d *Duplicates) Report(e *Entry, used, other netip.AddrPort) {
	if other == used || other == e.duplicate {
		return // this is the same answer to a repeated search
	}
	e.duplicate = other
	d.Found.Inc()
	now := time.Now()
	if now.Sub(d.logged) < duplicateInterval {
		d.unlogged++
		return
	}
	d.Log.Info("PV found on two servers", "pv", e.Name, "used", used, "ignored", other, "not_logged_since", d.unlogged)
	d.logged, d.unlogged = now, 0
}
