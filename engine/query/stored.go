package query

import (
	"context"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// LastInBlocks returns the last sealed sample of a PV at or before a time, in ns since
// 1970, as a run of one sample. It returns nil if there is none.
func LastInBlocks(ctx context.Context, st store.Store, pv string, at int64) (last *sample.Run, err error) {
	ch, _, err := st.Channel(ctx, pv)
	if err != nil {
		return nil, err
	}
	now := time.Now().UnixNano()
	p := newPlan(st, pv, now)
	p.From, p.To = at, at
	ch.LeaveOutFuture(now + maxAhead)
	p.Deleted = ch.Mask()
	p.Prepare(ch.Starts)
	p.run(ctx, func(r *sample.Run, failed error) bool {
		if err = failed; err == nil {
			last = new(sample.Run)
			r.Part(last, r.Len()-1, r.Len())
			last = last.Clone()
		}
		return err == nil
	})
	return last, err
}
