package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// overloaded answers for an engine that is short of memory. The request names shards 0 and 1.
type overloaded struct{ *life }

func (b overloaded) Recent(_ context.Context, q query.RecentRequest) query.Held {
	q.Shards = []int{0, 1}
	held := b.Flushed(q)
	held.Shards = append(held.Shards, q.Shards...)
	return held
}

// several answers for several engines.
type several []query.Recent

func (s several) Recent(ctx context.Context, q query.RecentRequest) (held query.Held) {
	for _, r := range s {
		held.Add(r.Recent(ctx, q))
	}
	return held
}

// TestAReadSaysThatAFormerShardHoldsSamples moves a PV to another shard while the store does not accept
// the samples of the former one. A read must have the samples of the former engine, or must say that it
// is not complete: also if nobody knows that the former engine holds any, and if its clock is ahead.
func TestAReadSaysThatAFormerShardHoldsSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, ioc, ahead := bubbleStore(t), &servers{}, &skewed{}
		ahead.by.Store(int64(20 * time.Second))
		if err := st.AddChannel(t.Context(), store.Channel{PV: "A", Shards: []int{0}}); err != nil {
			t.Fatal(err)
		}
		former, present := launchSkewed(t, st, &ioc.taps, ahead), launchSkewed(t, st, &ioc.taps, &skewed{})
		former.Apply(one(0, true, "A"))
		testclock.Advance(10 * time.Second)
		former.store.dead.Store(true)
		outage := time.Now()
		sent, first := 0, outage.Add(time.Second)
		for range 10 { // only the former engine captures these samples
			testclock.Advance(time.Second)
			ioc.send(uint64(sent))
			sent++
		}
		present.Apply(one(1, true, "A"))
		former.Apply(Assignment{0: {Seal: true}})
		for range 60 {
			testclock.Advance(time.Second)
			ioc.send(uint64(sent))
			sent++
		}
		for name, c := range map[string]struct {
			asked    query.Recent
			complete bool
		}{
			"both engines answer":         {several{former, present}, true},
			"the former engine is busy":   {several{overloaded{former}, present}, false},
			"nobody asks the former one":  {several{present}, false},
			"no engine answers the reads": {nil, false},
		} {
			r := &query.Reader{Store: st, Recent: c.asked, Shards: 4}
			read, err := r.Read(t.Context(), "A", outage.UnixNano(), time.Now().UnixNano(), query.Options{Inside: true})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for run, err := range read.All {
				if err != nil {
					t.Fatal(err)
				}
				n += run.Len()
			}
			if complete := read.CompleteUntil == query.Latest; complete != c.complete || complete && n != sent {
				t.Errorf("%s: %d samples of %d are read, and the answer says that it is complete: %v", name, n, sent, complete)
			}
			if !c.complete && read.CompleteUntil > first.UnixNano() {
				t.Errorf("%s: the answer claims to be complete until %v after the first sample that is missing", name, time.Unix(0, read.CompleteUntil).Sub(first))
			}
		}
	})
}
