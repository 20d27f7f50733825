package search

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// rivalInterval is the least time between two log lines about PVs on two servers.
const rivalInterval = 10 * time.Second

// Rivals reports PVs that two servers have. Its user guards it.
type Rivals struct {
	Log   *slog.Logger
	Found prometheus.Counter

	logged time.Time
	silent int // found since, and not logged
}

// Answered notes that another server than the one that is used answered for a name.
// The first answer is kept. A pair of servers is reported once for each name, and in
// the log every now and then; a server with two addresses may look like two.
func (r *Rivals) Answered(e *Entry, used, other netip.AddrPort) {
	if other == used || other == e.rival {
		return // the same answer to a repeated search
	}
	e.rival = other
	r.Found.Inc()
	now := time.Now()
	if now.Sub(r.logged) < rivalInterval {
		r.silent++
		return
	}
	r.Log.Info("PV found on two servers", "pv", e.Name, "used", used, "ignored", other, "others_since_last", r.silent)
	r.logged, r.silent = now, 0
}
