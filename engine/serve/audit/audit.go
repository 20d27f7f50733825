// Package audit writes who has read or changed what, as lines of JSON:
//
//	request ─▶ serve ─▶ Log.Add ─▶ queue ─▶ Run ─▶ a line per request ─▶ file or stderr
//	                      └─ full: the line is dropped and counted
//
// A slow disk does not delay reads. Each decision has a queue of its own: many reads cannot push out
// refusals, and many refusals, which everybody can cause, cannot push out lines about hidden PVs or changes.
package audit

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Decisions.
const (
	Allowed = "allowed"
	// Refused means that the request was not answered: it has no identity, or the wrong host.
	Refused = "refused"
	// Hidden means that the request asked for a PV that its sender may not read.
	Hidden = "hidden"
	// Changed means that the request changed an ArchiveGroup.
	Changed = "changed"
)

// Entry is a line of the log.
type Entry struct {
	Time   time.Time `json:"time"`
	User   string    `json:"user,omitempty"`
	Groups []string  `json:"groups,omitempty"`
	// Method is how the user was identified, such as tokens.
	Method string `json:"method,omitempty"`
	// Client is the address of the connection.
	Client string `json:"client"`
	// Call is the method and the pattern of the path, such as "GET /api/v1/samples".
	Call string `json:"call"`
	// Action and ArchiveGroup (namespace/name) say what the request changed. PVs are then those that it changed.
	Action       string `json:"action,omitempty"`
	ArchiveGroup string `json:"archiveGroup,omitempty"`
	// PVs are the first PVs that the request read, and More says that there were others.
	PVs  []string `json:"pvs,omitempty"`
	More bool     `json:"more,omitempty"`
	// From and To are the parameters with the range, as the client wrote them.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Bytes is the size of the answer as it was sent, which may be compressed.
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	Decision string  `json:"decision"`
	// Reason is why the request was refused.
	Reason string `json:"reason,omitempty"`
	Status int    `json:"status"`
}

// maxQueue is the number of lines that wait to be written, of each kind.
const maxQueue = 4096

// Log writes entries. Use New.
type Log struct {
	out     io.Writer
	log     *slog.Logger
	changed chan Entry
	hidden  chan Entry
	refused chan Entry
	allowed chan Entry
	dropped *prometheus.CounterVec
	written prometheus.Counter
	failing bool // the last write failed

	mu     sync.RWMutex
	closed bool
}

// New returns a log that writes to out. The caller calls Run.
func New(out io.Writer, reg prometheus.Registerer, log *slog.Logger) *Log {
	f := promauto.With(reg)
	return &Log{
		out: out, log: log, changed: make(chan Entry, maxQueue), hidden: make(chan Entry, maxQueue), refused: make(chan Entry, maxQueue), allowed: make(chan Entry, maxQueue),
		dropped: f.NewCounterVec(prometheus.CounterOpts{
			Namespace: "varve", Subsystem: "audit", Name: "dropped_total", Help: "Lines that the audit log lacks, by the reason: full or failed.",
		}, []string{"reason"}),
		written: f.NewCounter(prometheus.CounterOpts{
			Namespace: "varve", Subsystem: "audit", Name: "lines_total", Help: "Lines written to the audit log.",
		}),
	}
}

// Add queues an entry. It never waits.
func (l *Log) Add(e *Entry) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	queue := l.allowed
	switch e.Decision {
	case Changed:
		queue = l.changed
	case Hidden:
		queue = l.hidden
	case Refused:
		queue = l.refused
	}
	if !l.closed {
		select {
		case queue <- *e:
			return
		default:
		}
	}
	l.dropped.WithLabelValues("full").Inc()
}

// Run writes entries until ctx ends, and then those that wait.
func (l *Log) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case e := <-l.changed:
			l.write(&e)
		case e := <-l.hidden:
			l.write(&e)
		case e := <-l.refused:
			l.write(&e)
		case e := <-l.allowed:
			l.write(&e)
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	for _, queue := range []chan Entry{l.changed, l.hidden, l.refused, l.allowed} {
		for len(queue) > 0 {
			e := <-queue
			l.write(&e)
		}
	}
}

func (l *Log) write(e *Entry) {
	line, err := json.Marshal(e)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if _, err = l.out.Write(append(line, '\n')); err != nil {
		l.dropped.WithLabelValues("failed").Inc()
		if !l.failing {
			l.log.Error("the audit log cannot be written; lines are lost", "err", err)
		}
	} else {
		l.written.Inc()
	}
	l.failing = err != nil
}
