package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/check"
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// crowded is an archive near its disk limit. Of its three PVs, A changes, SET was set once, and
// GONE was captured only in the first days.
type crowded struct {
	*era
	keep store.Retention
}

// capture assigns the PVs to shard 0 and assigns the other shards without channels.
func (c *crowded) capture(pvs ...string) {
	a := Assignment{1: {Seal: true}, 2: {Seal: true}, 3: {Seal: true}}
	var channels []capture.Channel
	for _, pv := range pvs {
		channels = append(channels, capture.Channel{PV: pv, Group: "lab/test", Settings: &capture.Settings{Retention: c.keep}})
	}
	a[0] = Shard{Seal: true, Channels: channels}
	c.Apply(a)
}

func (c *crowded) sendTo(pv string, at time.Time, v float64) {
	c.source.mu.Lock()
	defer c.source.mu.Unlock()
	for _, sink := range c.source.sinks[pv] {
		sink.Sample(&sample.Sample{Time: at.UnixNano(), Word: math.Float64bits(v)})
	}
}

// rawBytes returns the size of all blocks in bytes.
func (c *crowded) rawBytes() (n int64) {
	for ch, err := range c.st.Channels(c.t.Context()) {
		if err != nil {
			c.t.Error(err)
		}
		for b := range store.InUse(ch.Starts, 0, time.Now().UnixNano()) {
			for blk, err := range c.st.Blocks(c.t.Context(), ch.PV, b, math.MinInt64, math.MaxInt64) {
				if err != nil {
					c.t.Error(err)
				}
				n += int64(len(blk.Blob))
			}
		}
	}
	return n
}

// readAll returns the samples of a PV since some time ago, each as its value and its age in days.
func (c *crowded) readAll(pv string, ago time.Duration) (out []string) {
	now := time.Now()
	read, err := c.reader.Read(c.t.Context(), pv, now.Add(-ago).UnixNano(), now.UnixNano(), query.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	for r, err := range read.All {
		if err != nil {
			c.t.Fatal(err)
		}
		for i := range r.Len() {
			out = append(out, fmt.Sprintf("%g@%d", r.Float(i), int(now.Sub(time.Unix(0, r.Times[i])).Round(24*time.Hour)/(24*time.Hour))))
		}
	}
	return out
}

// restart replaces the engine by a new one with another disk limit.
func (c *crowded) restart(limit int64, pvs ...string) {
	c.end()
	c.limit = limit
	c.begin(c.keep)
	c.capture(pvs...)
}

// awaitReason waits until the guard reports a reason, for at most 48 hours of test time.
func (c *crowded) awaitReason(want guard.Reason) {
	c.t.Helper()
	for range 48 * 60 {
		if c.DiskGuard().Reason == want {
			return
		}
		testclock.Advance(time.Minute)
	}
	c.t.Fatalf("after 48 hours the guard does not report %s: %+v", want, c.DiskGuard())
}

// TestLong_TheOldestGoesFirst fills an archive up to its limit. The guard must delete the oldest
// raw samples, but only as many as needed, and no more while their space is not free yet.
// Constant PVs, PVs that are no longer captured, and rollups must stay readable, even if
// samples arrive late. A restart must continue from there.
func TestLong_TheOldestGoesFirst(t *testing.T) {
	t.Parallel() // it has its own clock
	keep := store.Retention{Raw: store.Keep90d, Levels: [store.MaxLevels]store.Level{store.LevelOf(time.Hour, store.Forever)}}
	inEra(t, keep, func(t *testing.T, e *era) {
		c := &crowded{era: e, keep: keep}
		c.capture("A", "SET", "GONE")
		begun := time.Now()
		c.sendTo("SET", begun, 42)
		for n := range 20 * 24 {
			c.sendTo("A", time.Now(), float64(n%7))
			if n < 36 {
				c.sendTo("GONE", time.Now(), float64(n))
			} else if n == 36 {
				c.capture("A", "SET")
			}
			testclock.Advance(time.Hour)
		}
		if f, found, err := c.st.Cutoff(t.Context()); found || err != nil || c.DiskGuard().Reason != guard.NoLimit {
			t.Fatalf("without a limit: %+v, %+v, %v", c.DiskGuard(), f, err)
		}
		most := c.rawBytes()
		c.st.size = func() int64 {
			c.st.mu.Lock()
			defer c.st.mu.Unlock()
			return c.rawBytes() + c.st.unfree
		}
		c.restart(most, "A", "SET")
		c.awaitReason(guard.WaitingForRoom)
		if left := c.rawBytes(); left > most*86/100 || left < most*80/100 {
			t.Errorf("%d of %d bytes are left, want 80 %% to 86 %%", left, most)
		}
		cutoff, _, err := c.st.Cutoff(t.Context())
		if err != nil || cutoff.Limit != most || cutoff.Size < most*9/10 || cutoff.By != c.Writer() {
			t.Errorf("the stored cutoff is %+v, %v", cutoff, err)
		}
		since := time.Since(time.Unix(0, cutoff.Before))
		got := c.readAll("A", 80*days)
		if n := float64(len(got)); n > since.Hours()+26 || n < since.Hours() {
			t.Errorf("%d samples are left, but the cutoff is %v ago and each hour has one sample", len(got), since)
		}
		if st := c.DiskGuard(); st.Waiting < most/10 || !strings.Contains(st.Message, "to become free") {
			t.Errorf("the guard does not report which deleted bytes it waits for: %+v", st)
		}

		checkKept := func(when string) {
			t.Helper()
			if got := c.readAll("SET", time.Hour); len(got) != 1 || !strings.HasPrefix(got[0], "42@") {
				t.Errorf("%s: the PV that was set once has the samples %v, want only 42", when, got)
			}
			if got := c.readAll("GONE", time.Hour); len(got) != 1 || !strings.HasPrefix(got[0], "35@") {
				t.Errorf("%s: the PV that is no longer captured has the samples %v, want only its last one, 35", when, got)
			}
			bins, err := c.reader.Bins(t.Context(), "A", begun.UnixNano(), begun.Add(2*days).UnixNano(), 48, query.BinOptions{})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for b, err := range bins.All {
				if err != nil {
					t.Fatal(err)
				}
				if b.Count == 1 {
					n++
				}
			}
			if n < 47 {
				t.Errorf("%s: %d of the 48 bins of deleted samples are readable", when, n)
			}
		}
		checkKept("right after the deletion")
		if got := c.readAll("GONE", 80*days); len(got) == 0 || len(got) > 13 {
			t.Errorf("%d samples of the PV that is no longer captured are left, want 1 to 13", len(got))
		}

		// Nothing more is deleted while the guard waits, not even after a restart.
		left := len(got)
		testclock.Advance(3 * time.Hour)
		c.restart(most, "A", "SET")
		c.awaitReason(guard.WaitingForRoom)
		testclock.Advance(3 * time.Hour)
		if now := len(c.readAll("A", 80*days)); now != left {
			t.Errorf("%d samples are left after waiting, and %d before", now, left)
		}
		c.st.mu.Lock()
		c.st.unfree = 0
		c.st.mu.Unlock()
		c.awaitReason(guard.BelowLimit)
		if now, _, err := c.st.Cutoff(t.Context()); err != nil || now.Before != cutoff.Before || now.Open || now.Settled == 0 {
			t.Errorf("when all deleted bytes are free, the cutoff is %+v, %v", now, err)
		}
		checkKept("when all deleted bytes are free")

		// A late sample from before the cutoff would be the only sample in its bin.
		c.sendTo("A", begun.Add(36*time.Hour+time.Minute), 1000)
		c.sendTo("A", time.Now(), 3)
		testclock.Advance(time.Hour)
		if got := c.readAll("A", 80*days); len(got) != left+1 {
			t.Errorf("%d samples after a late sample, and %d before; want only one more, the newest", len(got), left)
		}
		checkKept("after a late sample")
		if s, _ := c.Capture().Status("A"); s.Dropped[sample.Expired] != 1 {
			t.Errorf("the late sample is not counted as expired: %+v", s)
		}

		// Without a limit, the cutoff stays the same.
		c.restart(0, "A", "SET")
		testclock.Advance(time.Hour)
		if now, found, err := c.st.Cutoff(t.Context()); !found || err != nil || now.Before != cutoff.Before || c.guard.Cutoff() != cutoff.Before {
			t.Errorf("without a limit, the cutoff is %+v, %v", now, err)
		}
		checkKept("without a limit")
		report, err := check.Run(t.Context(), c.st, check.Options{Shards: 4})
		if err != nil || report.Problems() > 0 || report.GivenUp == nil || !report.GivenUp.Before.Equal(time.Unix(0, cutoff.Before)) {
			t.Errorf("varve store check reports %+v, %v", report, err)
		}
	})
}

// TestYoungSamplesAreNotDeleted fills an archive far beyond its limit. The disk guard must delete old samples, but
// none that is younger than DiskKeep.
func TestYoungSamplesAreNotDeleted(t *testing.T) {
	const sent, keep = 8 * 24, 5 * days
	retention := store.Retention{Raw: store.Keep90d}
	inEra(t, retention, func(t *testing.T, e *era) {
		c := &crowded{era: e, keep: retention}
		begun := time.Now()
		for n := range sent {
			c.sendTo("A", begun.Add(-time.Duration(sent-n)*time.Hour), float64(n))
		}
		testclock.Advance(time.Hour)
		c.st.size, c.young = c.rawBytes, keep
		c.restart(1, "A")
		c.awaitReason(guard.NothingLeft)
		young := 0
		for n := range sent {
			if time.Since(begun.Add(-time.Duration(sent-n)*time.Hour)) < keep {
				young++
			}
		}
		if left := len(c.readAll("A", 80*days)); left < young || left == sent || young == 0 {
			t.Errorf("%d of %d samples are left, and %d are younger than %v", left, sent, young, keep)
		}
	})
}
