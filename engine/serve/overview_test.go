package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/engine/store"
)

// newOverviewRig returns an archive whose process knows some sources.
func newOverviewRig(t *testing.T, s overview.Sources) *rig {
	r := &rig{t: t, store: openStore(t)}
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: &query.Reader{Store: r.store, Shards: 4}, Channels: &r.channels, Gatherer: reg, Metrics: NewMetrics(reg), Overview: s,
		Ready: func() error { return nil }, Version: "1.2.3", Now: func() time.Time { return time.Unix(0, newYear) }, Log: slog.New(slog.DiscardHandler),
	})
	r.check(err)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	r.handler, r.url = h, srv.URL
	return r
}

// decodeAnswer decodes an answer with status 200.
func decodeAnswer[T any](r *rig, path string) (v T) {
	r.t.Helper()
	code, text := r.get(path)
	if err := json.Unmarshal([]byte(text), &v); err != nil || code != 200 {
		r.t.Fatalf("GET %s returns %d %s: %v", path, code, text, err)
	}
	return v
}

type archiveAnswer struct {
	Problems []struct{ Severity, Text, Advice string }
	Channels struct {
		Channels int
		States   map[string]int
		Dropped  map[string]uint64
	}
	Engines []overview.Engine
	Shards  *struct{ Shards, Captured int }
	Storage *struct {
		Kind  string
		Bytes int64
		Parts []struct {
			Contents, Tier string
			Bytes          int64
		}
	}
	Forecast *struct{ BytesPerDay float64 }
	Unknown  map[string]string
}

// TestArchiveSaysWhatIsUnknown checks that the answer leaves out what the process does not know, with a
// reason, instead of figures that are 0.
func TestArchiveSaysWhatIsUnknown(t *testing.T) {
	r := newRig(t)
	r.channels = channels{{PV: "A", Group: "lab/x", State: capture.Connected}, {PV: "B", Group: unreachable}}
	a := decodeAnswer[archiveAnswer](r, "/api/v1/archive")
	if a.Shards != nil || a.Forecast != nil || len(a.Engines) > 0 || a.Channels.Channels != 1 || a.Storage == nil || a.Storage.Kind != "Pebble" {
		t.Errorf("the archive is %+v", a)
	}
	for _, member := range []string{"engines", "shards", "moves", "forecast", "channels"} {
		if a.Unknown[member] == "" {
			t.Errorf("the answer does not say why %s are missing: %v", member, a.Unknown)
		}
	}
	if !strings.Contains(a.Unknown["channels"], query.ErrNoAnswer.Error()) {
		t.Errorf("channels are missing because %s", a.Unknown["channels"])
	}
}

// TestArchiveProblems checks what the answer says about engines that have problems, the gravest first.
func TestArchiveProblems(t *testing.T) {
	r := newOverviewRig(t, overview.Sources{Engines: func(context.Context) overview.Fleet {
		return overview.Fleet{Shards: 4, Captured: 3, Engines: []overview.Engine{
			{Engine: "a", Figures: &overview.Figures{SamplesPerSecond: 90, Storage: "StorageAway: the store does not accept samples", Pending: 7, Clock: overview.Clock{State: overview.ClockRight}}},
			{Engine: "b", Figures: &overview.Figures{SamplesPerSecond: 10, Unsealed: &overview.Unsealed{OldestSeconds: 7200, KeptSeconds: 259200, Late: 2},
				Damaged: &overview.Damaged{Objects: 3, First: "block of SR:I"}, Clock: overview.Clock{State: overview.ClockWrong, OffsetSeconds: -90, Because: "IOCs agree"}}},
			{Engine: "c", Missing: "connection refused"}, {Engine: "d", Figures: &overview.Figures{Clock: overview.Clock{State: overview.ClockRight}}},
		}}
	}})
	a := decodeAnswer[archiveAnswer](r, "/api/v1/archive")
	var texts []string
	for _, p := range a.Problems {
		if p.Advice == "" {
			t.Errorf("the problem %q has no advice", p.Text)
		}
		if strings.HasPrefix(p.Text, "the disk of ") {
			continue // of the machine that runs the test
		}
		texts = append(texts, p.Severity+": "+p.Text)
	}
	got := strings.Join(texts, "\n")
	const want = `error: engine a cannot store samples: StorageAway: the store does not accept samples
error: engine b found 3 damaged blocks or journal rows; the first is block of SR:I
error: the clock of engine b is wrong by 2 min: IOCs agree
error: engine c does not answer: connection refused
error: 1 of 4 shards are captured by no engine: their PVs are not archived
warning: engine b has not sealed samples of 2 shards for up to 2 h; the store deletes them after 3 days
info: engine a gets 2.7 times as many samples as the mean of all engines`
	if got != want {
		t.Errorf("the problems are\n%s\nwant\n%s", got, want)
	}
	if load := a.Engines[1].Figures.Load; load == nil || *load < 0.29 || *load > 0.31 {
		t.Errorf("the load of the engine b is %v, want 0.3", load)
	}
}

// TestLossesByCause checks the sums of losses, in a range and for a group.
func TestLossesByCause(t *testing.T) {
	r := newRig(t)
	r.channels = channels{{PV: "A", Group: "lab/x"}, {PV: "B", Group: "lab/y"}}
	for _, pv := range []string{"A", "B"} {
		r.addChannel(pv, sample.Float64, newYear)
	}
	lost := func(pv string, at int64, reason sample.Reason, n uint64) {
		r.check(r.store.PutMarks(t.Context(), store.PVMark{PV: pv, Mark: sample.Mark{Time: newYear + at*second, End: newYear + (at+1)*second, Kind: sample.Lost, Reason: reason, Count: n}}))
	}
	lost("A", 1, sample.Overflow, 5)
	lost("B", 2, sample.Overflow, 7)
	lost("B", 3, sample.Overrun, 0)
	lost("B", 4000, sample.Overrun, 100)
	r.check(r.store.PutMarks(t.Context(), store.PVMark{PV: "A", Mark: sample.Mark{Time: newYear, Kind: sample.Connected}}))
	type cause struct {
		Cause, Meaning, Advice string
		Marks, PVs, Unknown    int
		Samples                uint64
	}
	type losses struct {
		PVs, Read int
		Complete  bool
		Causes    []cause
	}
	in := "from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z"
	l := decodeAnswer[losses](r, "/api/v1/losses?"+in)
	if l.PVs != 2 || l.Read != 2 || !l.Complete || len(l.Causes) != 2 || l.Causes[0].Meaning == "" || l.Causes[0].Advice == "" {
		t.Fatalf("the losses are %+v", l)
	}
	if c := l.Causes[0]; c.Cause != "overflow" || c.Samples != 12 || c.Marks != 2 || c.PVs != 2 {
		t.Errorf("the first cause is %+v", c)
	}
	if c := l.Causes[1]; c.Cause != "overrun" || c.Samples != 0 || c.Unknown != 1 {
		t.Errorf("the second cause is %+v", c)
	}
	if l := decodeAnswer[losses](r, "/api/v1/losses?group=lab/x&"+in); l.PVs != 1 || len(l.Causes) != 1 || l.Causes[0].Samples != 5 {
		t.Errorf("the losses of a group are %+v", l)
	}
	if code, text := r.get("/api/v1/losses?grop=x"); code != 400 || !strings.Contains(text, "did you mean group?") {
		t.Errorf("an unknown parameter returns %d %s", code, text)
	}
}

// TestForecast checks that the forecast follows from the stored size of samples and the rates of PVs.
func TestForecast(t *testing.T) {
	r := newRig(t)
	now := newYear
	const samples = 4000
	run := &sample.Run{Type: sample.Float64}
	for i := range int64(samples) {
		run.Append(&sample.Sample{Time: now - (samples-i)*second, Word: uint64(i) * 0x9e3779b97f4a7c15 >> 12})
	}
	r.channels = channels{{PV: "A", Group: "lab/x", State: capture.Connected, Rate: 1, Received: 10, Stored: 5, Retention: store.Retention{Raw: store.Keep30d}}}
	bucket := store.Keep30d.Longest().Of(run.Times[0]).In(store.Keep30d)
	r.check(r.store.AddChannel(t.Context(), store.Channel{PV: "A", Shards: []int{0}, Types: []sample.Type{run.Type}, Starts: []store.Bucket{bucket}}))
	blob := block.Append(nil, run)
	r.check(r.store.PutBlocks(t.Context(), store.Block{
		BlockKey: store.BlockKey{PV: "A", Bucket: bucket, Start: run.Times[0], Writer: store.WriterID{1}, N: 1},
		End:      run.Times[samples-1], Count: samples, Type: run.Type, Blob: blob,
	}))
	size := len(blob)
	type forecast struct {
		Forecast *struct {
			Tiers []struct {
				Tier           string
				BytesPerSample float64
				FullBytes      int64
			}
			BytesPerDay    float64
			SettlesAtBytes int64
			Limit          string
		}
		Unknown map[string]string
	}
	f := decodeAnswer[forecast](r, "/api/v1/archive")
	if f.Forecast == nil || len(f.Forecast.Tiers) != 1 {
		t.Fatalf("there is no forecast: %v", f.Unknown)
	}
	tier, each := f.Forecast.Tiers[0], float64(size)/samples
	perDay := 0.5 * 86400 * each // half of the samples are stored
	if tier.Tier != "30d" || tier.BytesPerSample != each || f.Forecast.BytesPerDay < 0.999*perDay || f.Forecast.BytesPerDay > 1.001*perDay {
		t.Errorf("the forecast is %+v, want %g bytes per sample and %g per day", f.Forecast, each, perDay)
	}
	if full := int64(30 * perDay); tier.FullBytes < full-30 || tier.FullBytes > full+30 || f.Forecast.SettlesAtBytes < tier.FullBytes {
		t.Errorf("the tier is full at %d and the archive settles at %d, want %d", tier.FullBytes, f.Forecast.SettlesAtBytes, full)
	}
	if f.Forecast.Limit != "the free space of the disk" {
		t.Errorf("the limit is %q", f.Forecast.Limit)
	}
}

// TestForecastOfAnEmptyArchive checks that nothing is predicted if nothing is known.
func TestForecastOfAnEmptyArchive(t *testing.T) {
	r := newRig(t)
	r.channels = channels{{PV: "NEW", Group: "lab/y", State: capture.Connected, Rate: 3}}
	_, text := r.get("/api/v1/forecast")
	for _, no := range []string{"reachedInDays", `"limit"`} {
		if strings.Contains(text, no) {
			t.Errorf("the forecast has %s: %s", no, text)
		}
	}
	if !strings.Contains(text, `"later":[]`) || strings.Contains(text, `"later":[0`) || !strings.Contains(text, "no measured PV has samples") {
		t.Errorf("the forecast is %s", text)
	}
}

// TestForecastOfGroups checks that the forecast of a group follows from the blocks of its PVs, and those of other PVs from
// their rates.
func TestForecastOfGroups(t *testing.T) {
	limit := int64(0)
	r := newOverviewRig(t, overview.Sources{Engines: func(context.Context) overview.Fleet {
		return overview.Fleet{Engines: []overview.Engine{{Engine: "e", Figures: &overview.Figures{DiskGuard: &overview.DiskGuard{Limit: limit}}}}}
	}})
	const samples = 4000
	run := &sample.Run{Type: sample.Float64}
	for i := range int64(samples) {
		run.Append(&sample.Sample{Time: newYear - (samples-i)*2*second, Word: uint64(i) * 0x9e3779b97f4a7c15 >> 12})
	}
	keep := store.Retention{Raw: store.Keep30d}
	status := func(pv, group string, rate float64) capture.Status {
		return capture.Status{PV: pv, Group: group, State: capture.Connected, Rate: rate, Received: 10, Stored: 10, Retention: keep}
	}
	r.channels = channels{status("A", "lab/x", 0.5), status("NEW", "lab/y", 3), status("NEWER", "lab/z", 0.5)}
	bucket := store.Keep30d.Longest().Of(run.Times[0]).In(store.Keep30d)
	blob := block.Append(nil, run)
	fill := func(pv string) {
		r.check(r.store.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{0}, Types: []sample.Type{run.Type}, Starts: []store.Bucket{bucket}}))
		r.check(r.store.PutBlocks(t.Context(), store.Block{
			BlockKey: store.BlockKey{PV: pv, Bucket: bucket, Start: run.Times[0], Writer: store.WriterID{1}, N: 1},
			End:      run.Times[samples-1], Count: samples, Type: run.Type, Blob: blob,
		}))
	}
	fill("A")
	for i := range 30 { // more than are measured
		pv := fmt.Sprintf("B%02d", i)
		fill(pv)
		r.channels = append(r.channels, status(pv, "lab/z", 0.5))
	}
	type outlook struct {
		Group                                          string
		PVs, MeasuredPVs                               int
		MeasuredSeconds, SamplesPerSecond, BytesPerDay float64
		Bytes                                          int64
		Later                                          []int64
		Unknown                                        string
		Tiers                                          []struct{ Contents, Tier string }
	}
	const span = (samples - 1) * 2.0
	perDay := float64(len(blob)) / span * 86400
	limit = int64(31 * perDay * 20)
	f := decodeAnswer[struct {
		Days          []int
		Archive       outlook
		Groups        []outlook
		Limit         string
		LimitBytes    int64
		ReachedInDays int
	}](r, "/api/v1/forecast?days=60")
	if !slices.Equal(f.Days, []int{30, 60, 365, 3650}) || len(f.Groups) != 3 {
		t.Fatalf("the forecast is %+v", f)
	}
	x, y, z := f.Groups[0], f.Groups[1], f.Groups[2]
	if x.Group != "lab/x" || x.MeasuredSeconds != span || math.Abs(x.SamplesPerSecond-0.5) > 0.001 || math.Abs(x.BytesPerDay-perDay) > 1 {
		t.Errorf("lab/x: %+v, want %g bytes per day from %g s", x, perDay, span)
	}
	// A bucket of a day expires at once, so half a day more is kept on average.
	if full := 30.5 * perDay; math.Abs(float64(x.Later[1])-full) > 10 || x.Later[3] != x.Later[1] || len(x.Tiers) != 1 || x.Tiers[0].Tier != "30d" {
		t.Errorf("lab/x: %+v, want %g bytes", x, full)
	}
	if f.Limit != "the disk limit of the archive" || f.LimitBytes != limit || f.ReachedInDays < 18 || f.ReachedInDays > 20 {
		t.Errorf("the limit is %q, %d bytes, in %d days", f.Limit, f.LimitBytes, f.ReachedInDays)
	}
	if y.MeasuredPVs != 0 || y.BytesPerDay != 0 || len(y.Later) != 0 || !strings.Contains(y.Unknown, "no measured PV has samples") {
		t.Errorf("lab/y: %+v", y)
	}
	if z.PVs != 31 || z.MeasuredPVs < 23 || math.Abs(z.BytesPerDay-31*perDay) > 31 || math.Abs(z.SamplesPerSecond-15.5) > 0.01 {
		t.Errorf("lab/z: %+v, want %g bytes per day", z, 31*perDay)
	}
	if a := f.Archive; a.PVs != 33 || math.Abs(a.BytesPerDay-32*perDay) > 32 || a.Later[1] < x.Later[1]+z.Later[1]-10 {
		t.Errorf("the archive: %+v", a)
	}
}
