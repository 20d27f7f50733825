// Package watchdog heals subscriptions that are dead though their channels are connected.
// Of a shard that several engines capture each compares itself with what all of them
// stored:
//
//	statuses ─▶ connected, and silent for a round ─▶ last sample in blocks ─▶ newer than its own: subscribe anew
//	                                                    ▲
//	             samples of all engines ─▶ sealer ──────┘
//
// Blocks have what the others got up to their last checkpoint: that is how long it takes.
// A channel that is silent because nothing changes costs a read of its latest block, and no
// more than so many are looked at in a round, in turns.
package watchdog

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

const (
	// looksPerRound bounds how many channels are compared in a round.
	looksPerRound = 5000
	// looksAtOnce of those.
	looksAtOnce = 4
	// slack is by how much the clocks of engines may differ, which give samples their
	// times where an IOC's clock is not to be had.
	slack = 10 * time.Second
)

// Config of a Watch.
type Config struct {
	// Statuses yields all channels that are captured, in the same order each time.
	Statuses func() iter.Seq[capture.Status]
	// Shared reports whether other engines capture the shard of a PV, too.
	Shared func(pv string) bool
	// Last returns the last sample of a PV in blocks at or before a time, in ns since
	// 1970: a run of one sample, or nil.
	Last func(ctx context.Context, pv string, at int64) (*sample.Run, error)
	// Resubscribe ends the subscription of a PV and makes another one.
	Resubscribe func(pv string)
	// Every is how long a round lasts: not less than sealers take from one checkpoint to
	// the next.
	Every      time.Duration
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Watch compares, round after round.
type Watch struct {
	cfg      Config
	healed   prometheus.Counter
	failures prometheus.Counter

	received map[string]uint64 // of channels that are shared, at the last round
	next     string            // the PV to begin the next round with
}

// New returns a Watch that does nothing until Run is called.
func New(cfg Config) *Watch {
	f := promauto.With(cfg.Registerer)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "capture", Name: name, Help: help})
	}
	return &Watch{
		cfg:      cfg,
		healed:   counter("resubscribed_total", "Channels that were subscribed anew: connected and silent, while another engine got samples."),
		failures: counter("comparison_failures_total", "Silent channels that could not be compared with what is stored."),
	}
}

// Run compares until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.round(ctx)
	}
}

// round compares the channels of which nothing came since the round before.
func (w *Watch) round(ctx context.Context) {
	was := w.received
	w.received = make(map[string]uint64, len(was))
	var before, after []capture.Status // of the PV to begin with
	for st := range w.cfg.Statuses() {
		if st.State != capture.Connected || !w.cfg.Shared(st.PV) {
			continue
		}
		w.received[st.PV] = st.Received
		if n, known := was[st.PV]; !known || n != st.Received {
			continue
		}
		if st.PV < w.next {
			before = append(before, st)
		} else {
			after = append(after, st)
		}
	}
	due := append(after, before...)
	w.next = ""
	if len(due) > looksPerRound {
		w.next = due[looksPerRound].PV
		due = due[:looksPerRound]
	}
	var g errgroup.Group
	g.SetLimit(looksAtOnce)
	for i := range due {
		g.Go(func() error {
			w.compare(ctx, &due[i])
			return nil
		})
	}
	_ = g.Wait()
}

// compare subscribes a channel anew if samples of it are stored that this engine did not
// get.
func (w *Watch) compare(ctx context.Context, st *capture.Status) {
	if ctx.Err() != nil {
		return
	}
	r, err := w.cfg.Last(ctx, st.PV, time.Now().Add(slack).UnixNano())
	if err != nil {
		if ctx.Err() == nil {
			w.failures.Inc()
			w.cfg.Log.Warn("a silent channel can not be compared with what is stored", "pv", st.PV, "err", err)
		}
		return
	}
	if r == nil || r.Len() == 0 || st.HasLast && r.Times[0] <= st.Last.Time+int64(slack) {
		return
	}
	w.healed.Inc()
	w.cfg.Log.Warn("a channel is connected and silent, while another engine got samples; subscribing anew",
		"pv", st.PV, "host", st.Host, "stored", time.Unix(0, r.Times[0]).UTC())
	w.cfg.Resubscribe(st.PV)
}
