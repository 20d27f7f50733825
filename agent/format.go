package agent

import (
	"context"
	"sync/atomic"
	"time"

	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/store"
)

// formatEvery is how often the agent reads the format level of the archive, which can rise at any time.
// formatTimeout bounds each read.
const (
	formatEvery   = 15 * time.Second
	formatTimeout = 5 * time.Second
)

// format is the format level of the archive as last read. It never falls, so an old value is the best one
// while the store is away.
type format struct{ level atomic.Int64 }

// keepFormat reads the level until ctx ends, or until the archive has the latest level that this program knows.
func (a *Agent) keepFormat(ctx context.Context) {
	if a.cfg.Store == nil {
		return
	}
	tick := time.NewTicker(formatEvery)
	defer tick.Stop()
	for {
		a.readFormat(ctx)
		if a.format.level.Load() >= int64(latestFormat) {
			return // this program cannot use an archive of a higher level
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// readFormat reads the level once. The engine reports why the store is away, so errors are not logged here.
func (a *Agent) readFormat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, formatTimeout)
	defer cancel()
	level, err := a.cfg.Store.FormatLevel(ctx)
	if err == nil && int64(level) > a.format.level.Load() {
		a.format.level.Store(int64(level))
		a.reports.expire()
	}
}

// latestFormat is the highest level that this program knows.
var latestFormat = store.Formats{}.OrDefault().Latest

// reportFormat returns the levels for the report.
func (a *Agent) reportFormat() *report.Format {
	return &report.Format{Archive: int(a.format.level.Load()), Latest: int(latestFormat)}
}
