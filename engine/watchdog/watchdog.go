// Package watchdog resubscribes stale subscriptions: their channels are connected but
// deliver no samples, while another engine that captures the same shard gets some. Each
// engine compares its silent channels with the samples that all engines stored:
//
//	statuses ─▶ connected, and silent for a round ─▶ last sample in blocks ─▶ newer than its own: resubscribe
//	                                                    ▲
//	             samples of all engines ─▶ sealer ──────┘
//
// Blocks hold the samples of other engines up to their last checkpoint, so it takes up to
// a checkpoint interval to find a stale subscription. A sample that is newer only because the
// other engine has read a value, for which the record sent no update, is no reason: see package
// capture. The check of a silent channel costs a
// read of its latest block, even if the value just does not change. A round checks a limited
// number of channels; if there are more, they take turns.
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
	// maxPerRound is the maximum number of channels that a round compares.
	maxPerRound = 5000
	// parallel is the number of channels that are compared at the same time.
	parallel = 4
	// slack is the maximum difference between the clocks of two engines. An engine stamps
	// samples with its own clock where the IOC's time cannot be used.
	slack = 10 * time.Second
)

// Config configures a Watchdog.
type Config struct {
	// Statuses yields all channels that are captured, in the same order each time.
	Statuses func() iter.Seq[capture.Status]
	// Shared reports whether other engines also capture the shard of a PV.
	Shared func(pv string) bool
	// Last returns a run with the last sample of a PV in blocks at or before a time, in
	// ns since 1970, or nil if there is none.
	Last func(ctx context.Context, pv string, at int64) (*sample.Run, error)
	// Resubscribe replaces the subscription of a PV with a new one, and then calls done, unless the
	// IOC had a reason to send no update for the stored sample.
	Resubscribe func(pv string, stored *sample.Run, done func())
	// Every is how long a round lasts. It must not be shorter than the checkpoint interval.
	Every      time.Duration
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Watchdog compares silent channels with the stored samples in rounds.
type Watchdog struct {
	cfg          Config
	resubscribed prometheus.Counter
	failures     prometheus.Counter

	received map[string]uint64 // by PV: the count of shared channels in the last round
	next     string            // the PV with which the next round starts
}

// New returns a Watchdog that does nothing until Run is called.
func New(cfg Config) *Watchdog {
	f := promauto.With(cfg.Registerer)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: "varve", Subsystem: "capture", Name: name, Help: help})
	}
	return &Watchdog{
		cfg:          cfg,
		resubscribed: counter("resubscribed_total", "Channels that were resubscribed because they were connected but silent while another engine got samples."),
		failures:     counter("comparison_failures_total", "Silent channels that could not be compared with the stored samples."),
	}
}

// Run compares channels in rounds until ctx ends.
func (w *Watchdog) Run(ctx context.Context) {
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

// round compares the channels that got no sample since the previous round.
func (w *Watchdog) round(ctx context.Context) {
	was := w.received
	w.received = make(map[string]uint64, len(was))
	var before, after []capture.Status // in order: PVs before w.next, and the others
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
	if len(due) > maxPerRound {
		w.next = due[maxPerRound].PV
		due = due[:maxPerRound]
	}
	var g errgroup.Group
	g.SetLimit(parallel)
	for i := range due {
		g.Go(func() error {
			w.compare(ctx, &due[i])
			return nil
		})
	}
	_ = g.Wait()
}

// compare resubscribes a channel if the store has a newer sample of the channel than this
// engine's last one.
func (w *Watchdog) compare(ctx context.Context, st *capture.Status) {
	if ctx.Err() != nil {
		return
	}
	r, err := w.cfg.Last(ctx, st.PV, time.Now().Add(slack).UnixNano())
	if err != nil {
		if ctx.Err() == nil {
			w.failures.Inc()
			w.cfg.Log.Warn("a silent channel cannot be compared with the stored samples", "pv", st.PV, "err", err)
		}
		return
	}
	if r == nil || r.Len() == 0 || st.HasLast && r.Times[0] <= st.Last.Time+int64(slack) {
		return
	}
	w.cfg.Resubscribe(st.PV, r, func() {
		w.resubscribed.Inc()
		w.cfg.Log.Warn("a channel is connected but silent, while another engine got samples; resubscribed",
			"pv", st.PV, "host", st.Host, "stored", time.Unix(0, r.Times[0]).UTC())
	})
}
