package serve

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

// TestRollupsAnswerWhereSamplesHaveExpired checks that post-processors read rollups where the raw samples
// of a slow PV have expired, and samples where they have not.
func TestRollupsAnswerWhereSamplesHaveExpired(t *testing.T) {
	r := newRig(t)
	// Hours on the tier 1d in 2020 have expired by any clock, until the end of their span.
	from := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC).UnixNano()
	expired := store.Hour.Of(from).In(store.Keep1d)
	until := expired.Span().Last().End()
	r.rollUp("X", store.LevelOf(time.Minute, store.Forever), ramp(from, 3601)) // the last bin is not complete
	r.check(r.store.AddChannel(t.Context(), store.Channel{PV: "X", Starts: []store.Bucket{expired}}))
	r.put("X", ramp(until+60*second, 1200), 1)
	type event struct {
		Secs int64
		Val  any
	}
	read := func(op string, from, to int64) (data []event) {
		t.Helper()
		format := func(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339) }
		code, text := r.get("/retrieval/data/getData.json?pv=" + op + "(X)&from=" + format(from) + "&to=" + format(to))
		var got []struct{ Data []event }
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 || len(got) > 1 {
			t.Fatalf("%s returns %d %s: %v", op, code, text, err)
		}
		if len(got) == 0 {
			return nil
		}
		return got[0].Data
	}
	for op, first := range map[string]float64{"meanSample_600": 299.5, "minSample_600": 0, "maxSample_600": 599, "countSample_600": 600} {
		got := read(op, from, until+20*60*second)
		if len(got) != 9 || got[0] != (event{from/second + 300, first}) || got[5].Secs != from/second+3300 {
			t.Fatalf("%s returns %v", op, got)
		}
		for i, e := range got[6:] { // the bins of samples, which begin a minute after the end of the expired ones
			if e.Secs != until/second+int64(i)*600+300 || op == "countSample_600" && e.Val != []float64{540, 600, 1}[i] {
				t.Errorf("%s: bin %d of samples is %v", op, i, e)
			}
		}
	}
	// Each minute is stored with its mean and its deviation, rounded to multiples of a 2⁻²⁰th of its
	// spread or less: both are wrong by half of that at most, and the deviation of many minutes by
	// less than all of it.
	const step = 60.0 / (1 << 20)
	std := read("std_600", from, from+3599*second)
	if v, ok := std[0].Val.(float64); len(std) != 6 || !ok || math.Abs(v-math.Sqrt((600*600-1)/12.0)) > step {
		t.Errorf("std_600 returns %v", std)
	}
	if got := read("meanSample_90", from, until+20*60*second); len(got) == 0 || got[0].Secs < until/second {
		t.Errorf("bins of 90 s, which rollups of a minute cannot answer, are %v", got)
	}
	for points, want := range map[string]int{"optimized_6": 7, "optimizedSample_6": 7, "optimized_1000": 60} {
		got := read(points, from, from+3599*second)
		total := 0.0
		for _, e := range got {
			v, ok := e.Val.([]any)
			if !ok || len(v) != 5 {
				t.Fatalf("%s returns %v", points, e)
			}
			total += v[4].(float64)
		}
		if len(got) != want || total != 3600 {
			t.Errorf("%s returns %d bins of %v samples: %v", points, len(got), total, got)
		}
	}
	if got := read("mean_600", from, until+20*60*second); len(got) != int((until-from)/(600*second))+3 || got[6].Val != 3599.0 {
		t.Errorf("mean_600, which repeats the last value in empty bins, returns %d bins", len(got))
	}
}

// TestStatisticsOfExpiredSamplesSayWhatTheyLeaveOut checks that statistics count whole bins where samples
// have expired, and say how much of the range has no whole bin.
func TestStatisticsOfExpiredSamplesSayWhatTheyLeaveOut(t *testing.T) {
	r := newRig(t)
	from := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC).UnixNano() // as above
	expired := store.Hour.Of(from).In(store.Keep1d)
	r.rollUp("X", store.LevelOf(time.Minute, store.Forever), ramp(from, 3601))
	r.check(r.store.AddChannel(t.Context(), store.Channel{PV: "X", Starts: []store.Bucket{expired}}))
	type statistics struct {
		Count            int
		Min, Max         *float64
		Covered, LeftOut float64
	}
	number := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name     string
		from, to int64 // seconds
		want     statistics
	}{
		{"whole bins", 0, 600, statistics{600, number(0), number(599), 1, 0}},
		{"half a bin at each end", 30, 630, statistics{540, number(60), number(599), 0.9, 60}},
		{"a part of a bin", 70, 80, statistics{0, nil, nil, 0, 10}},
	} {
		at := func(seconds int64) string { return time.Unix(0, from+seconds*second).UTC().Format(time.RFC3339) }
		code, text := r.get("/api/v1/statistics?pv=X&from=" + at(c.from) + "&to=" + at(c.to))
		var got struct{ PVs []statistics }
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 || len(got.PVs) != 1 || !reflect.DeepEqual(got.PVs[0], c.want) {
			t.Errorf("%s: the statistics are %d %s, want %+v", c.name, code, text, c.want)
		}
	}
}

// TestBinsOfExpiredSamplesBeginWithAWholeBin checks ranges that begin within a stored bin whose samples have
// expired. The answer begins with that bin: it must not repeat the value from before the bin instead, because
// the bin has others.
func TestBinsOfExpiredSamplesBeginWithAWholeBin(t *testing.T) {
	r := newRig(t)
	from := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC).UnixNano() // as above
	expired := store.Hour.Of(from).In(store.Keep1d)
	r.rollUp("X", store.LevelOf(time.Hour, store.Forever), ramp(from, 4*3600+1))
	r.check(r.store.AddChannel(t.Context(), store.Channel{PV: "X", Starts: []store.Bucket{expired}}))
	for _, c := range []struct {
		name     string
		from, to time.Duration
		first, n int // hours
	}{
		{"from within an hour", 20 * time.Minute, 3*time.Hour - time.Second, 0, 3},
		{"from within a later hour", time.Hour + time.Second, 3*time.Hour - time.Second, 1, 2},
		{"a part of an hour", time.Hour + 20*time.Minute, time.Hour + 40*time.Minute, 1, 1},
		{"whole hours", time.Hour, 3*time.Hour - time.Second, 1, 2},
	} {
		at := func(d time.Duration) string { return time.Unix(0, from+int64(d)).UTC().Format(time.RFC3339) }
		span := "pv=X&points=16&from=" + at(c.from) + "&to=" + at(c.to)
		x := r.columns("/api/v1/bins?" + span).PVs[0]
		_, points := r.points(span) // their grid is another one, and may begin and end with another hour
		if len(points) > 0 && points[0].Time < x.Time[0] {
			points = points[1:]
		}
		if len(x.Time) != c.n || len(points) < c.n {
			t.Fatalf("%s: the bins are %+v, the points %+v", c.name, x, points)
		}
		for i := range c.n {
			hour := c.first + i
			start, low := at(time.Duration(hour)*time.Hour), float64(3600*hour)
			if x.Time[i] != start || x.Width[i] != 3600 || x.Count[i] != 3600 || x.Min[i] != low || x.Max[i] != low+3599 || x.Covered[i] != 1 {
				t.Errorf("%s: bin %d is %s %g s, %g samples from %g to %g", c.name, i, x.Time[i], x.Width[i], x.Count[i], x.Min[i], x.Max[i])
			}
			if p := points[i]; p.Time != start || p.Count != 3600 || p.Max != low+3599 {
				t.Errorf("%s: point %d is %+v", c.name, i, p)
			}
		}
	}
}
