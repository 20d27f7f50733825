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

// keepAsAsked tells the sealers how long the channels that are captured are kept.
func (e *Engine) keepAsAsked() {
	e.sealCfg.Retention, e.sealCfg.Captured = e.capture.Retention, e.capture.InShard
	e.sealCfg.Expired, e.sealCfg.Pace = e.capture.Expired, new(relocation.Pace)
	e.sealCfg.Last = func(ctx context.Context, pv string, at int64) (*sample.Run, error) {
		return query.LastInBlocks(ctx, e.opts.Store, pv, at)
	}
}

const (
	// expireEvery is how often the store is told to delete what has expired.
	expireEvery = time.Hour
	// expireLater is for how long what has expired stays: longer than a read takes
	// that began before.
	expireLater = time.Hour
)

// expire has the store delete what has expired, again and again, until ctx ends.
func (e *Engine) expire(ctx context.Context) {
	f := promauto.With(e.opts.Registerer)
	took := f.NewGauge(prometheus.GaugeOpts{
		Namespace: "varve", Subsystem: "engine", Name: "expire_seconds",
		Help: "Time that it took to delete what has expired, the latest time.",
	})
	failures := f.NewCounter(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: "engine", Name: "expire_failures_total",
		Help: "Times that deleting what has expired failed. It is tried again an hour later.",
	})
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		begun := time.Now()
		err := e.opts.Store.Expire(ctx, begun.Add(-expireLater).UnixNano())
		took.Set(time.Since(begun).Seconds())
		if err != nil && ctx.Err() == nil {
			failures.Inc()
			e.opts.Log.Warn("what has expired was not deleted; it will be tried again", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
