package query

import (
	"context"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/scan"
)

// expiring is how soon raw samples count as expired, so that they do not expire while they are read.
const expiring = int64(time.Minute)

// ExpiredUntil returns the time, in ns since 1970, before which raw samples of a PV have expired, so
// that only its rollups summarize them. It returns Earliest if the PV has no rollups, or if nothing has
// expired. Samples from before Seam are in the other archive, and have not expired.
func (r *Reader) ExpiredUntil(ctx context.Context, pv string) (int64, error) {
	if list, err := r.parts(ctx, pv); list != nil || err != nil {
		return r.named.expiredUntil(ctx, list, err)
	}
	ch, _, err := r.Store.Channel(ctx, pvname.Canonical(pv))
	if err != nil || len(ch.Levels) == 0 {
		return Earliest, err
	}
	until := scan.WholeSince(ch.Starts, r.now()+expiring)
	for _, s := range ch.Starts {
		if s.Start() < until {
			return r.expiredAfterSeam(ctx, pv, until)
		}
	}
	return Earliest, nil
}

// expiredAfterSeam returns until, or Earliest if the other archive has the samples from before that time.
func (r *Reader) expiredAfterSeam(ctx context.Context, pv string, until int64) (int64, error) {
	seam, err := r.Seam(ctx, pv)
	if err != nil || seam >= until {
		return Earliest, err
	}
	return until, nil
}
