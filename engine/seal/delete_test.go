package seal

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// pastArchive is an archive of one PV with samples of days that are long past.
type pastArchive struct {
	t *testing.T
	*Shard
	st    *pebble.Store
	ser   *series
	asked int64 // the requested cutoff
}

func newPastArchive(t *testing.T) *pastArchive {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	o := &pastArchive{t: t, st: st, ser: newSeries(store.Day)}
	shardJournal := journal.NewShardJournal(0, store.NewWriter(), &journal.Config{Store: st})
	o.Shard = NewShard(shardJournal, &Config{Store: st, Cutoff: func() int64 { return o.asked }, Metrics: NewMetrics(prometheus.NewRegistry())})
	return o
}

// dayOf returns a time in the n-th day.
func dayOf(n int) int64 { return store.Day.Of(noon).Start() + int64(n)*24*hour + hour }

// seal stores a run. It also stores the carried-forward block of each day, up to the day with
// number to.
func (o *pastArchive) seal(r *sample.Run, to int) {
	o.t.Helper()
	blocks, _ := o.ser.plan(r, dayOf(0))
	for n := range to + 1 {
		blocks = append(blocks, o.ser.carry(store.Day.Of(dayOf(n)))...)
	}
	entry, _ := o.ser.entry.Missing(o.ser.pv, 0, blocks)
	o.ser.entry.Add(entry)
	if err := o.st.AddChannel(o.t.Context(), entry); err != nil {
		o.t.Fatal(err)
	}
	if err := o.st.PutBlocks(o.t.Context(), latest(blocks)...); err != nil {
		o.t.Fatal(err)
	}
}

// drop deletes the days from number after (inclusive) to number before (exclusive), and
// returns the days that are left. A negative after means that drop begins with the earliest
// day.
func (o *pastArchive) drop(after, before int) string {
	o.t.Helper()
	from := int64(math.MinInt64)
	if after >= 0 {
		from = store.Day.Of(dayOf(after)).Start()
	}
	c, _, err := o.st.Channel(o.t.Context(), o.ser.pv)
	if err != nil {
		o.t.Fatal(err)
	}
	was := o.days()
	n, bytes, err := o.DropBefore(o.t.Context(), c, from, store.Day.Of(dayOf(before)).Start())
	left := o.days()
	if err != nil || len(was)-len(left) != n || (n > 0) != (bytes > 0) {
		o.t.Errorf("%d buckets and %d bytes, %v; days %v before, and %v now", n, bytes, err, was, left)
	}
	return fmt.Sprint(left)
}

func (o *pastArchive) days() (days []int) {
	for n := range 40 {
		_, found, err := o.st.LastBlock(o.t.Context(), o.ser.pv, store.Day.Of(dayOf(n)), math.MaxInt64)
		if err != nil {
			o.t.Fatal(err)
		}
		if found {
			days = append(days, n)
		}
	}
	return days
}

// value returns the size and the day of the value that is valid at a time in the n-th day.
func (o *pastArchive) value(n int) string {
	o.t.Helper()
	r, err := query.LastInBlocks(o.t.Context(), o.st, o.ser.pv, dayOf(n))
	if err != nil {
		o.t.Fatal(err)
	}
	if r == nil {
		return "nothing"
	}
	return fmt.Sprintf("%d bytes of day %d", len(r.Value(0)), (r.Times[0]-dayOf(0))/int64(24*time.Hour))
}

// TestALargeValueInForceIsNotDeleted checks that a value that is too large to be copied stays
// while it is the latest value, and is deleted once there is a later one.
func TestALargeValueInForceIsNotDeleted(t *testing.T) {
	const size = carryBytes + 1
	o := newPastArchive(t)
	o.seal(images(size, dayOf(1), dayOf(3)), 9)
	if got := o.drop(-1, 6); got != "[3 6 7 8 9]" || o.value(8) != fmt.Sprintf("%d bytes of day 3", size) {
		t.Errorf("the days %s are left, and the value is %s", got, o.value(8))
	}
	if got := o.drop(6, 8); got != "[3 8 9]" || o.value(8) != fmt.Sprintf("%d bytes of day 3", size) {
		t.Errorf("the days %s are left, and the value is %s", got, o.value(8))
	}
	o.seal(images(size, dayOf(10)), 14)
	if got := o.drop(8, 10); got != "[3 10 11 12 13 14]" { // nothing is left before day 10, which holds the latest value
		t.Errorf("the days %s are left", got)
	}
	if got := o.drop(10, 13); got != "[10 13 14]" || o.value(13) != fmt.Sprintf("%d bytes of day 10", size) {
		t.Errorf("the days %s are left, and the value is %s", got, o.value(13))
	}
}

// TestTheLastBucketIsNotDeleted checks that the last bucket of a PV that is no longer captured
// stays, because it has a copy of the last sample.
func TestTheLastBucketIsNotDeleted(t *testing.T) {
	o := newPastArchive(t)
	o.seal(images(5, dayOf(1), dayOf(2), dayOf(3)), 4)
	for range 2 {
		if got := o.drop(-1, 20); got != "[4]" || o.value(25) != "5 bytes of day 3" {
			t.Errorf("the days %s are left, and the value is %s", got, o.value(25))
		}
	}
	o.seal(images(6, dayOf(22)), 24)
	if got := o.drop(20, 24); got != "[4 24]" || o.value(24) != "6 bytes of day 22" {
		t.Errorf("the days %s are left, and the value is %s", got, o.value(24))
	}
}

func TestTheLastSampleIsNotDeleted(t *testing.T) {
	o := newPastArchive(t)
	o.seal(images(5, dayOf(1), dayOf(2), dayOf(3)), 3)
	if got := o.drop(-1, 20); got != "[3]" || o.value(25) != "5 bytes of day 3" {
		t.Errorf("the days %s are left, and the value is %s", got, o.value(25))
	}
	o.seal(images(6, dayOf(22)), 24)
	if got := o.drop(20, 24); got != "[24]" || o.value(24) != "6 bytes of day 22" {
		t.Errorf("the days %s are left, and the value is %s", got, o.value(24))
	}
}

// TestACutoffInTheFutureIsHarmless checks that no cutoff deletes or refuses samples that are
// younger than a day.
func TestACutoffInTheFutureIsHarmless(t *testing.T) {
	o := newPastArchive(t)
	now := time.Now().UnixNano()
	o.asked = math.MaxInt64
	if f := o.blocks.Cutoff(); f > now-23*hour {
		t.Errorf("the cutoff is %v ago", time.Duration(now-f))
	}
	r := images(5, now-72*hour, now-72*hour+1, now-hour, now)
	rest, n := newSeries(store.Hour).refuse(r, o.blocks.Cutoff())
	if n != 2 || rest.Len() != 2 || rest.Times[0] != now-hour {
		t.Errorf("%d samples are refused, and %d left", n, rest.Len())
	}
	// The last sample of a new PV is kept, regardless of its age. Older samples are refused.
	ser := newSeries(store.Hour)
	if rest, n := ser.refuse(images(5, 7, 8), o.blocks.Cutoff()); n != 1 || rest.Len() != 1 || rest.Times[0] != 8 {
		t.Errorf("%d of the first two samples of a PV are refused, want only the older one", n)
	}
	ser.plan(images(5, now), now)
	if rest, n := ser.refuse(images(5, 7, 8), o.blocks.Cutoff()); n != 2 || rest.Len() != 0 {
		t.Errorf("%d of two late samples are refused, want both", n)
	}
}
