package engine

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/relocation"
	"varve.dev/varve/engine/sample"
)

// configureRetention gives the sealers access to the retention of captured channels.
func (e *Engine) configureRetention() {
	e.sealCfg.Retention, e.sealCfg.Captured = e.capture.Retention, e.capture.InShard
	e.sealCfg.Expired, e.sealCfg.Pace = e.capture.Expired, new(relocation.Pace)
	e.sealCfg.Last = func(ctx context.Context, pv string, at int64) (*sample.Run, error) {
		return query.LastInBlocks(ctx, e.opts.Store, pv, at)
	}
}

const (
	// expireEvery is how often the store deletes expired samples.
	expireEvery = time.Hour
	// expireDelay is how long expired samples stay. It is longer than a read that began
	// before they expired.
	expireDelay = time.Hour
)

// expire makes the store delete expired samples periodically until ctx ends. It goes by the
// earliest time that it may be, so a wrong clock deletes nothing early.
func (e *Engine) expire(ctx context.Context) {
	f := promauto.With(e.opts.Registerer)
	took := f.NewGauge(prometheus.GaugeOpts{
		Namespace: "varve", Subsystem: "engine", Name: "expire_seconds",
		Help: "Duration of the latest deletion of expired samples.",
	})
	failures := f.NewCounter(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: "engine", Name: "expire_failures_total",
		Help: "Failed deletions of expired samples. The next try is an hour later.",
	})
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		begun := time.Now()
		err := e.opts.Store.Expire(ctx, e.clock.Earliest()-int64(expireDelay))
		took.Set(time.Since(begun).Seconds())
		if err != nil && ctx.Err() == nil {
			failures.Inc()
			e.opts.Log.Warn("expired samples could not be deleted; the next try is in an hour", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
