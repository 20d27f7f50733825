package agent

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
)

// channels are channel statuses. The first digit of a PV is its shard.
type channels []capture.Status

func (c channels) Statuses() iter.Seq[capture.Status] {
	return func(yield func(capture.Status) bool) {
		for i := range c {
			if !yield(c[i]) {
				return
			}
		}
	}
}

func (c channels) Shard(pv string) (int, bool) { return int(pv[0] - '0'), true }

func (c channels) Problems() []string { return nil }

// troubled are channels whose searches have problems.
type troubled struct {
	channels
	problems []string
}

func (c troubled) Problems() []string { return c.problems }

// TestReportHasTheProblemsOfSearches checks that the operator learns why searches do not reach all servers, and
// that a host name without end does not blow up the report.
func TestReportHasTheProblemsOfSearches(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	r := reporting(troubled{channels{}, []string{"b", long, "a", "c", "d"}}, v1alpha1.Capturing).makeReportLocked(time.Now())
	if len(r.SearchProblems) != 4 || !slices.Equal(r.SearchProblems[:3], []string{"a", "b", "c"}) {
		t.Errorf("the problems are %q", r.SearchProblems)
	}
	if n := len(r.SearchProblems[3]); n < 300 || n > 410 {
		t.Errorf("a long problem has %d bytes", n)
	}
}

// reporting returns an agent with one shard in each of the given phases.
func reporting(c Channels, phases ...v1alpha1.ShardPhase) *Agent {
	a := &Agent{cfg: Config{Name: "a", Engine: &fakeEngine{}, Channels: c}, shards: map[int]*shard{}}
	for i, p := range phases {
		a.shards[i] = &shard{
			index: i, phase: p, spec: *orders("a", captures, "b", captures),
			object: &v1alpha1.ArchiveShard{Status: phased("b", v1alpha1.Capturing)},
		}
	}
	return a
}

func TestReportCountsChannelsOnce(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixNano() }
	long, brief := ago(time.Hour), ago(time.Second)
	c := channels{
		{PV: "0a", Group: "ns/g", State: capture.Connected, Since: long, HasLast: true, Rate: 10, Received: 100, Stored: 50, Host: "ioc1:5064"},
		{PV: "0b", Group: "ns/g", State: capture.Connected, Since: long, Silent: true, Host: "ioc1:5064"},
		{PV: "0c", Group: "ns/g", State: capture.Connected, Since: brief, Host: "ioc2:5075", Provider: capture.PVA},
		{PV: "0d", Group: "ns/g", State: capture.Searching, Since: brief, Cause: "no answer"},
		{PV: "0e", Group: "ns/g", State: capture.Disconnected, Since: long},
		{PV: "0f", Group: "ns/h", State: capture.Paused, Since: long},
		{PV: "0g", Group: "ns/h", State: capture.Unsupported, Since: long, Cause: "values of type X"},
		{PV: "1a", Group: "ns/g", State: capture.Connected, Since: long, HasLast: true},
		{PV: "2a", Group: "ns/g", State: capture.Searching, Since: long},
	}
	a := reporting(c, v1alpha1.Capturing, v1alpha1.Joining, v1alpha1.Draining)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest("GET", report.Path, nil))
	var r report.Report
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	g := r.Groups["ns/g"]
	if g.Channels != 5 || g.Connected != 3 || g.NeverConnected != 1 || g.Disconnected != 1 || g.Silent != 1 || g.SamplesPerSecond != 10 {
		t.Errorf("the group is %+v", g)
	}
	if len(g.Worst) != 2 || g.Worst[0].PV != "0e" || g.Worst[1].Reason != neverConnected || g.Worst[1].Message != "no answer" {
		t.Errorf("the worst channels are %+v", g.Worst)
	}
	if h := r.Groups["ns/h"]; h.Channels != 2 || h.Paused != 1 || len(h.Worst) != 1 || h.Worst[0].Reason != unsupported {
		t.Errorf("the other group is %+v", h)
	}
	if len(r.Circuits) != 2 || r.Circuits[0].Host != "ioc1:5064" || r.Circuits[1].Host != "pva://ioc2:5075" {
		t.Errorf("the circuits are %+v", r.Circuits)
	}
	if want := []report.Host{{Host: "ioc1:5064", Channels: 2}, {Host: "pva://ioc2:5075", Channels: 1}}; !slices.Equal(r.Shards[0].Hosts, want) {
		t.Errorf("the hosts of shard 0 are %+v, want %+v", r.Shards[0].Hosts, want)
	}
	if len(r.Shards) != 3 || r.Shards[1].Phase != string(v1alpha1.Joining) || r.Engine != "a" {
		t.Errorf("the shards are %+v", r.Shards)
	}
}

func TestReportSaysHowFarSealingLags(t *testing.T) {
	a := reporting(channels{}, v1alpha1.Capturing)
	e := a.cfg.Engine.(*fakeEngine)
	if e.lag = (seal.Lag{Age: time.Hour, TTL: 24 * time.Hour}); a.Report().SealingLag != nil {
		t.Errorf("without a late shard the lag is %+v", a.Report().SealingLag)
	}
	e.late = 2
	a.reports.expire()
	if got, want := a.Report().SealingLag, (report.SealingLag{Shards: 2, OldestSeconds: 3600, KeptSeconds: 86400}); got == nil || *got != want {
		t.Errorf("the lag is %+v, want %+v", got, want)
	}
}

func TestReportNamesDamage(t *testing.T) {
	a := reporting(channels{}, v1alpha1.Capturing)
	e := a.cfg.Engine.(*fakeEngine)
	if a.Report().Damaged != nil {
		t.Errorf("without damage the report has %+v", a.Report().Damaged)
	}
	e.damaged = seal.Found{Count: 2, First: "the block of A", IDs: []uint64{7, 9}}
	a.reports.expire()
	if got, want := a.Report().Damaged, (report.Damaged{Objects: 2, First: "the block of A", IDs: []uint64{7, 9}}); got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("the damage is %+v, want %+v", got, want)
	}
}

func TestReportNamesChannelsThatLoseSamples(t *testing.T) {
	losing := capture.Status{PV: "0a", Group: "g", State: capture.Connected, HasLast: true}
	losing.Dropped[sample.Overflow] = 5
	filtered := capture.Status{PV: "0b", Group: "g", State: capture.Connected, HasLast: true}
	c := channels{losing, filtered}
	a := reporting(c, v1alpha1.Capturing)
	begin := time.Now()
	at := func(s int) *report.Report { return a.reportAt(begin.Add(time.Duration(s) * time.Second)) }
	if worst := at(0).Groups["g"].Worst; worst != nil {
		t.Errorf("losses before the first report are reported: %+v", worst)
	}
	c[0].Dropped[sample.Overflow]++
	c[1].Dropped[sample.Deadband]++
	at(10)
	c[0].Dropped[sample.Overflow]++
	worst := at(20).Groups["g"].Worst
	if len(worst) != 1 || worst[0].PV != "0a" || worst[0].Reason != dropping || !worst[0].Since.Equal(begin.Add(10*time.Second)) {
		t.Errorf("the worst channels are %+v", worst)
	}
	if worst := at(30).Groups["g"].Worst; worst != nil {
		t.Errorf("a channel that no longer loses samples is reported: %+v", worst)
	}
}

// reportAt returns a report for a given time.
func (a *Agent) reportAt(now time.Time) *report.Report {
	a.reports.mu.Lock()
	defer a.reports.mu.Unlock()
	return a.makeReportLocked(now)
}

func TestWorstChannelsAreBounded(t *testing.T) {
	var worst []report.Channel
	for i := range 100 {
		worst = addWorst(worst, report.Channel{PV: fmt.Sprint(i), Since: time.Unix(int64((i*37)%100), 0)})
	}
	if len(worst) != worstChannels {
		t.Fatalf("there are %d channels", len(worst))
	}
	for i, ch := range worst {
		if ch.Since.Unix() != int64(i) {
			t.Fatalf("position %d has %+v", i, ch)
		}
	}
}

// A report with many shards names fewer hosts of each shard.
func TestHostsAreBounded(t *testing.T) {
	c := circuits{}
	for i := range 100 {
		for shard := range 2 {
			for range 1 + i%7 {
				c.add(&capture.Status{State: capture.Connected, Host: fmt.Sprintf("ioc%03d:5064", i)}, shard, false)
			}
		}
	}
	for shards, want := range map[int]int{2: 100, 1024: 16, 1 << 20: leastHosts} {
		hosts := c.hosts(shards)[1]
		if len(hosts) != want || hosts[0] != (report.Host{Host: "ioc006:5064", Channels: 7}) {
			t.Errorf("a report of %d shards names %d hosts of a shard, want %d: %+v", shards, len(hosts), want, hosts[:1])
		}
	}
}

func BenchmarkReport(b *testing.B) {
	c := make(channels, 100_000)
	for i := range c {
		c[i] = capture.Status{PV: fmt.Sprintf("%dSR:PRES-%06d", i%4, i), Group: fmt.Sprintf("ns/group-%d", i%20), Rate: 1, Received: 10, Stored: 10,
			State: capture.State(i % capture.NumStates), Since: int64(i), Host: fmt.Sprintf("10.0.0.%d:5064", i%200)}
	}
	a := reporting(c, v1alpha1.Capturing, v1alpha1.Capturing, v1alpha1.Capturing, v1alpha1.Capturing)
	a.cfg.Engine.Apply(engine.Assignment{})
	b.ReportAllocs()
	for b.Loop() {
		a.reportAt(time.Now())
	}
}

// TestTheSecondEngineCountsNoChannels checks that if two engines capture a shard permanently,
// the first engine counts the channels. Both engines report the resources that they use.
func TestTheSecondEngineCountsNoChannels(t *testing.T) {
	c := channels{
		{PV: "0a", Group: "ns/g", State: capture.Connected, HasLast: true, Rate: 10, Received: 10, Stored: 10, Host: "ioc1:5064"},
		{PV: "1a", Group: "ns/g", State: capture.Connected, HasLast: true, Rate: 10, Received: 10, Stored: 5, Host: "ioc1:5064"},
		{PV: "1b", Group: "ns/g", State: capture.Disconnected, Host: "ioc2:5064"},
		{PV: "1c", Group: "ns/g", State: capture.Connected, HasLast: true, Host: "ioc3:5064"},
	}
	a := reporting(c, v1alpha1.Capturing, v1alpha1.Capturing)
	a.cfg.Shards = 1
	a.cfg.Engine.(*fakeEngine).summary = engine.Summary{Stored: 10, JournalBytes: 40}
	a.shards[1].spec = *orders("b", captures, "a", captures)
	r := a.reportAt(time.Now())
	g := r.Groups["ns/g"]
	if g.Channels != 1 || g.Connected != 1 || g.SamplesPerSecond != 10 || g.BytesPerDay != (10+5)*4*86400 {
		t.Errorf("the group is %+v", g)
	}
	if want := (report.Second{Channels: 3, Circuits: 1, BytesPerDay: 5 * 4 * 86400}); r.Second == nil || *r.Second != want {
		t.Errorf("the second engine reports %+v, want %+v", r.Second, want)
	}
	if a, b := r.Shards[0].Circuits, r.Shards[1].Circuits; a != 0.5 || b != 1.5 {
		t.Errorf("the shards use %v and %v circuits, want 0.5 and 1.5: both use the first of two IOCs", a, b)
	}

	a.shards[1].object.Status = phased("b", v1alpha1.Joining)
	if r := a.reportAt(time.Now()); r.Groups["ns/g"].Channels != 4 || r.Second != nil {
		t.Errorf("while the first engine joins, the second one counts %+v and %+v", r.Groups["ns/g"], r.Second)
	}
}
