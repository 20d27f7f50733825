package growth

import (
	"math"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

func TestAStreamGrowsUntilItExpires(t *testing.T) {
	for _, c := range []struct {
		name   string
		stream Stream
		after  time.Duration
		want   float64
	}{
		{"forever", Stream{Tier: store.Forever, PerDay: 10, Bytes: 100}, 3650 * day, 36600},
		{"not full yet", Stream{Tier: store.Keep30d, PerDay: 10, Bytes: 20, Age: 2 * day}, 20 * day, 220},
		{"just full", Stream{Tier: store.Keep30d, PerDay: 10, Bytes: 20, Age: 2 * day}, 28 * day, 300},
		{"full", Stream{Tier: store.Keep30d, PerDay: 10, Bytes: 300, Age: 30 * day}, 365 * day, 300},
		{"full from the start", Stream{Tier: store.Keep30d, PerDay: 10, Bytes: 300, Age: 30 * day}, 7 * day, 300},
		{"with what a bucket keeps longer", Stream{Tier: store.Keep30d, PerDay: 10, Slack: day}, 365 * day, 310},
		{"more was stored before", Stream{Tier: store.Keep30d, PerDay: 10, Bytes: 3000, Age: 30 * day}, 15 * day, 1650},
		{"what was stored before expires", Stream{Tier: store.Keep30d, PerDay: 10, Bytes: 3000, Age: 30 * day}, 31 * day, 300},
		{"stopped", Stream{Tier: store.Keep7d, Bytes: 70, Age: 7 * day}, 6 * day, 10},
		{"of unknown age", Stream{Tier: store.Keep7d, PerDay: 1, Bytes: 70}, 6 * day, 76},
	} {
		if got := c.stream.At(c.after); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %g bytes, want %g", c.name, got, c.want)
		}
	}
	if _, ok := (&Stream{Tier: store.Forever, PerDay: 1}).Full(); ok {
		t.Error("a stream that is kept forever becomes full")
	}
}

func TestStreamsAreSummedByTier(t *testing.T) {
	sum := Sum(
		Stream{Contents: store.RollupContents, Tier: store.Forever, PerDay: 1},
		Stream{Contents: store.SampleContents, Tier: store.Forever, PerDay: 2, Bytes: 5},
		Stream{Contents: store.SampleContents, Tier: store.Keep7d, PerDay: 3, Bytes: 6, Age: 4 * day},
		Stream{Contents: store.SampleContents, Tier: store.Keep7d, PerDay: 1, Bytes: 1, Age: 0},
	)
	want := []Stream{
		{Contents: store.SampleContents, Tier: store.Keep7d, PerDay: 4, Bytes: 7, Age: 3 * day},
		{Contents: store.SampleContents, Tier: store.Forever, PerDay: 2, Bytes: 5},
		{Contents: store.RollupContents, Tier: store.Forever, PerDay: 1},
	}
	if len(sum) != len(want) {
		t.Fatalf("%+v", sum)
	}
	for i := range want {
		if sum[i] != want[i] {
			t.Errorf("%+v, want %+v", sum[i], want[i])
		}
	}
	if got := At(Scale(sum, 10), day); got != 10*(11+7+1) {
		t.Errorf("%g bytes after a day", got)
	}
}
