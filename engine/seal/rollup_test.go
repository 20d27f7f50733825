package seal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

const tick = int64(time.Second)

// simulation is a shard with rollups, and engines that capture and seal it. All engines make
// checkpoints, and their claims say that they seal. If leading is set, only the leader makes
// checkpoints, and the former leader makes one more while leadership passes.
type simulation struct {
	t       *testing.T
	rng     *rand.Rand
	st      *memory
	levels  []store.Level
	tier    store.Tier
	all     map[string][]sample.Sample // journalled samples by PV
	trace   []string
	engines []*simEngine
	leading bool
	memory  int64      // limit of an engine that is launched; 0: 1 GiB
	sealer  *simEngine // the leader
	// lateQuiet and lateAge are those of seal.Config.
	lateQuiet, lateAge time.Duration
	// now is the clock of an engine that is launched; nil: a clock that is right.
	now func() clock.Instant
}

// simEngine is an engine with a shard journal and a sealer.
type simEngine struct {
	shardJournal *journal.ShardJournal
	shard        *Shard
	end          func()
}

var simTypes = map[string]sample.Type{"A": sample.Float64, "B": sample.Enum}

func newSimulation(t *testing.T, seed uint64, levels ...store.Level) *simulation {
	m := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 0)), st: newMemory(), levels: levels, all: map[string][]sample.Sample{}}
	t.Cleanup(func() {
		for _, g := range m.engines {
			g.end()
		}
	})
	return m
}

// launch starts an engine. It uses the clock of the test.
func (m *simulation) launch() *simEngine {
	mem := journal.NewMemory(cmp.Or(m.memory, 1<<30))
	log := slog.New(slog.DiscardHandler)
	shardJournal := journal.NewShardJournal(0, store.NewWriter(), &journal.Config{Store: m.st, Flush: 5 * time.Second, RowBytes: 256 << 10,
		Memory: mem, Now: m.now,
		Lost: func(pv string, l sample.Mark) { m.t.Errorf("samples of %s are dropped: %+v", pv, l) }, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem), Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { shardJournal.Run(ctx, ctx) })
	<-shardJournal.Claimed()
	g := &simEngine{shardJournal: shardJournal, end: sync.OnceFunc(func() { cancel(); wg.Wait() })}
	g.shard = NewShard(shardJournal, &Config{Store: m.st, Every: 15 * time.Minute, Memory: mem, Slots: make(chan struct{}, 1), Silence: 15 * time.Second,
		Ours: func(store.WriterID) bool { return false }, Died: func(context.Context, int, int64, int64) error { return nil },
		Retention: func(string) (r store.Retention, captured bool) {
			r.Raw = m.tier
			copy(r.Levels[:], m.levels)
			return r, true
		},
		LateQuiet: m.lateQuiet, LateAge: m.lateAge,
		Metrics: NewMetrics(prometheus.NewRegistry()), Log: log})
	m.engines = append(m.engines, g)
	if !m.leading {
		m.setTerm(g, store.FirstTerm)
	} else if m.sealer == nil {
		m.handOver(g)
	}
	return g
}

func (m *simulation) setTerm(g *simEngine, t store.Term) {
	if err := g.shardJournal.SetSealing(context.Background(), t); err != nil {
		m.t.Fatal(err)
	}
}

// handOver passes leadership to an engine during a checkpoint of the current leader, which
// does not know about it yet.
func (m *simulation) handOver(g *simEngine) {
	before := m.sealer
	if m.sealer = g; before == nil {
		m.lead(g)
		return
	}
	var wg sync.WaitGroup
	switch m.rng.IntN(3) {
	case 0: // both leaders write at the same time
		m.st.looked = func() {
			m.lead(g)
			wg.Go(func() { m.checkpoint(g) })
		}
	case 1: // the new leader writes before the old one
		m.st.looked = func() {
			m.lead(g)
			m.checkpoint(g)
		}
	case 2: // the new leader writes after the old one has read and before it writes
		m.st.rolling = func() {
			m.lead(g)
			m.checkpoint(g)
		}
	}
	if err := before.shard.Checkpoint(context.Background()); err != nil && !errors.Is(err, errSuperseded) {
		m.t.Error(err)
	}
	wg.Wait()
	if m.st.rolling = nil; g.shard.term < store.FirstTerm { // the old leader had nothing to write
		m.lead(g)
	}
	before.shard = NewShard(before.shardJournal, before.shard.cfg)
	m.setTerm(before, store.Follows)
}

func (m *simulation) lead(g *simEngine) {
	g.shard = NewShard(g.shardJournal, g.shard.cfg)
	if err := g.shard.writeTerm(context.Background()); err != nil { // the former leader may be in a pass
		m.t.Error(err)
	}
	close(g.shard.leads)
}

// put appends samples to the journals of engines and makes them durable.
func (m *simulation) put(pv string, samples []sample.Sample, by ...*simEngine) {
	m.all[pv] = append(m.all[pv], samples...)
	for _, g := range by {
		h := g.shardJournal.Open(pv, simTypes[pv])
		for i := range samples {
			g.shardJournal.Append(h, simTypes[pv], &samples[i])
		}
		if err := g.shardJournal.Sync(context.Background()); err != nil {
			m.t.Fatal(err)
		}
	}
}

// some returns n random samples of the latest time span, in order of time.
func (m *simulation) some(pv string, back time.Duration, n int) []sample.Sample {
	var out []sample.Sample
	now := time.Now().UnixNano()
	for range n {
		s := sample.Sample{Time: now - m.rng.Int64N(int64(back)+1), Word: uint64(m.rng.IntN(5))}
		if m.rng.IntN(4) == 0 {
			s.Time = rollup.Floor(s.Time, 10*tick)
		}
		if simTypes[pv] == sample.Float64 {
			s.Word = math.Float64bits(float64(m.rng.IntN(1000)) / 100)
		}
		if m.rng.IntN(8) == 0 {
			s.Tag = sample.MakeTag(sample.Severity(m.rng.IntN(4)), 17)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b sample.Sample) int { return cmp.Compare(a.Time, b.Time) })
	return out
}

func (m *simulation) checkpoint(g *simEngine) {
	if err := g.shard.Checkpoint(context.Background()); err != nil {
		m.t.Error(err)
	}
}

// rows returns the tiles of a PV and a level.
func (m *simulation) rows(pv string, l store.Level) (tiles []*rollup.Tile) {
	now := time.Now().UnixNano()
	for row, err := range m.st.Rollups(context.Background(), pv, l, l.Tile(0), l.Tile(now+int64(48*time.Hour))) {
		if err != nil {
			m.t.Fatal(err)
		}
		t := new(rollup.Tile)
		if err := rollup.Decode(t, &row); err != nil {
			m.t.Fatal(err)
		}
		tiles = append(tiles, t)
	}
	return tiles
}

// sealed returns the bins computed from the blocks of a PV. Bins that start at or after sure
// are certain. Earlier bins may depend on samples that have expired since.
func (m *simulation) sealed(pv string, l store.Level) (bins []rollup.Bin, sure int64) {
	c, _, err := m.st.Channel(context.Background(), pv)
	if err != nil {
		m.t.Fatal(err)
	}
	now := time.Now().UnixNano()
	whole := scan.WholeSince(c.Starts, now)
	acc := rollup.NewAccumulator(int64(l.Every()))
	sure = rollup.Floor(whole+acc.Width()-1, acc.Width())
	begins := sure
	sc := &scan.Scan{Store: m.st, PV: pv, From: scan.Earliest, To: scan.Latest, Now: now}
	sc.Prepare(c.Starts)
	err = sc.Feed(context.Background(), func(r *sample.Run, i, j int) bool {
		if k := slices.IndexFunc(r.Times[i:j], func(t int64) bool { return t >= whole }); k >= 0 && whole > query.Earliest && sure == begins {
			sure = max(sure+1, rollup.Floor(r.Times[i+k], acc.Width())+acc.Width())
		}
		bins = acc.Add(bins, r, i, j)
		return true
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return acc.Close(bins, math.MaxInt64), sure
}

// journalled returns the bins computed from all samples that were ever journalled.
func (m *simulation) journalled(pv string, l store.Level) []rollup.Bin {
	r := &sample.Run{Type: simTypes[pv]}
	for i := range m.all[pv] {
		r.Append(&m.all[pv][i])
	}
	r.Normalize()
	acc := rollup.NewAccumulator(int64(l.Every()))
	return acc.Close(acc.Add(nil, r, 0, r.Len()), math.MaxInt64)
}

// verify checks the bins of the tiles. Every bin in the time that a tile covers must exist and
// match the samples. verify returns the time at which the tiles of the level end.
func (m *simulation) verify(pv string, l store.Level, want []rollup.Bin, sure int64) (through int64) {
	m.t.Helper()
	tiles, there := m.rows(pv, l), map[store.Tile]bool{}
	for _, t := range tiles {
		there[t.Tile] = true
	}
	for _, t := range tiles {
		since := max(t.Since, sure)
		var claimed []rollup.Bin
		for _, b := range want {
			if b.Start >= max(since, t.Start()) && b.Start < t.Through {
				claimed = append(claimed, b)
			}
			if b.Start >= since && b.Start < t.Start() && !there[l.Tile(b.Start)] {
				m.t.Fatalf("%s %v: the tile that begins at %d claims to be complete since %d, but no tile has the bin at %d\n%v", pv, l, t.Start(), t.Since, b.Start, m.trace)
			}
		}
		bins := slices.DeleteFunc(slices.Clone(t.Bins), func(b rollup.Bin) bool { return b.Start < since })
		if len(bins) != len(claimed) {
			m.t.Fatalf("%s %v: a tile from %d to %d has %d bins, but %d if computed from the samples\n%v", pv, l, t.Since, t.Through, len(bins), len(claimed), m.trace)
		}
		for i := range bins {
			if !same(&bins[i], &claimed[i]) {
				m.t.Fatalf("%s %v: a bin is\n%+v\nwant, computed from the samples,\n%+v\n%v", pv, l, bins[i], claimed[i], m.trace)
			}
		}
		through = t.Through
	}
	return through
}

// same reports whether two bins are equal. It treats NaN as equal to itself.
func same(a, b *rollup.Bin) bool {
	if !slices.Equal(a.States, b.States) {
		return false
	}
	without := func(b *rollup.Bin) rollup.Bin {
		c := *b
		c.States, c.Min, c.Max, c.Mean, c.Std, c.First, c.Last = nil, 0, 0, 0, 0, 0, 0
		return c
	}
	return reflect.DeepEqual(without(a), without(b)) && sameNumber(a.Min, b.Min) && sameNumber(a.Max, b.Max) &&
		sameNumber(a.Mean, b.Mean) && sameNumber(a.Std, b.Std) && sameNumber(a.First, b.First) && sameNumber(a.Last, b.Last)
}

func sameNumber(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// verifyAll checks the tiles of all PVs and levels against blocks.
func (m *simulation) verifyAll() {
	m.t.Helper()
	for pv := range simTypes {
		for _, l := range m.levels {
			bins, sure := m.sealed(pv, l)
			m.verify(pv, l, bins, sure)
		}
	}
}

func (m *simulation) did(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

var simLevels = []store.Level{
	store.LevelOf(10*time.Second, store.Forever), store.LevelOf(time.Minute, store.Keep10y), store.LevelOf(20*time.Minute, store.Forever),
}

// step applies a random event to the shard.
func (m *simulation) step() {
	live := m.engines[max(0, len(m.engines)-2):]
	pv := []string{"A", "A", "B"}[m.rng.IntN(3)]
	g := live[m.rng.IntN(len(live))]
	switch k := m.rng.IntN(21); {
	case k < 8:
		back := time.Duration(m.rng.IntN(20)) * time.Minute
		m.did("%s: new samples of %v", pv, back)
		testclock.Advance(back)
		m.put(pv, m.some(pv, back, 1+m.rng.IntN(60)), g)
	case k < 10:
		m.did("%s: new samples, captured twice", pv)
		testclock.Advance(5 * time.Minute)
		m.put(pv, m.some(pv, 5*time.Minute, 50), live...)
	case k == 10:
		m.did("%s: late samples", pv)
		m.put(pv, m.some(pv, time.Duration(1+m.rng.IntN(30*60))*time.Minute, 1+m.rng.IntN(5)), g)
	case k == 11 && len(m.all[pv]) > 0:
		m.did("%s: old samples again", pv)
		i := m.rng.IntN(len(m.all[pv]))
		m.put(pv, slices.Clone(m.all[pv][i:min(i+5, len(m.all[pv]))]), g)
	case k == 12:
		m.did("a long time without samples")
		testclock.Advance(time.Duration(1+m.rng.IntN(300)) * time.Minute)
	case k == 13:
		m.did("another engine")
		m.launch()
	case k == 14:
		m.did("the sealing engine starts another term")
		if m.leading {
			m.lead(m.sealer)
			return
		}
		g.shard = NewShard(g.shardJournal, g.shard.cfg)
	case k == 15:
		if m.leading {
			m.did("leadership passes to engine %d of %d", slices.Index(live, g), len(live))
			if g != m.sealer {
				m.handOver(g)
			}
			return
		}
		m.did("checkpoints at once, then one after the other")
		var wg sync.WaitGroup
		for _, g := range live {
			wg.Go(func() { m.checkpoint(g) })
		}
		wg.Wait()
		for _, g := range live {
			m.checkpoint(g)
		}
	default:
		if m.leading {
			g = m.sealer
		}
		m.did("checkpoint of %d of %d", slices.Index(live, g), len(live))
		m.checkpoint(g)
	}
}

// TestRollupsFollowTheSamples lets engines capture and seal a shard in turns, one or two at a
// time, with random events. It checks the tiles after each event.
func TestRollupsFollowTheSamples(t *testing.T) { sealInTurns(t, 2, 20) }

// TestLong_RollupsFollowTheSamples is TestRollupsFollowTheSamples with more seeds and events.
func TestLong_RollupsFollowTheSamples(t *testing.T) { sealInTurns(t, 4, 70) }

// sealInTurns runs the simulation with a number of seeds, each with a number of events.
func sealInTurns(t *testing.T, seeds uint64, events int) {
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newSimulation(t, seed, simLevels...)
				m.leading = seed/2%2 == 1
				m.tier = []store.Tier{store.Forever, store.Keep1d}[seed%2]
				m.launch()
				for range events {
					m.step()
					m.verifyAll()
					for pv := range m.all {
						m.compareBins(pv)
					}
				}
				m.converge()
			})
		})
	}
}

// converge makes checkpoints until nothing is left to do. Then it compares the tiles with all
// samples that were ever journalled and have not expired.
func (m *simulation) converge() {
	m.t.Helper()
	m.did("the end")
	for pv := range simTypes { // a new sealer processes only PVs with new samples
		m.put(pv, m.some(pv, 0, 1), m.engines[len(m.engines)-1])
	}
	for range 3 {
		testclock.Advance(2 * time.Hour)
		seal := m.engines[max(0, len(m.engines)-2):]
		if m.leading {
			seal = []*simEngine{m.sealer}
		}
		for _, g := range seal {
			m.checkpoint(g)
		}
	}
	for pv := range simTypes {
		for _, l := range m.levels {
			_, sure := m.sealed(pv, l)
			want := m.journalled(pv, l)
			through := m.verify(pv, l, want, sure)
			if n := len(want); n > 0 && through < want[n-1].End() {
				m.t.Errorf("%s %v: at the end, the tiles end at %d, but the samples end at %d", pv, l, through, want[n-1].End())
			}
		}
	}
}

// TestRollupsArePutOff checks that rollups wait while memory is short, and are complete later.
func TestRollupsArePutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 3, simLevels...)
		g := m.launch()
		roomy, short := g.shard.cfg.Memory, journal.NewMemory(1<<20)
		// This journal does not run, so it keeps its samples in memory.
		other := journal.NewShardJournal(1, store.NewWriter(), &journal.Config{Memory: short})
		other.Append(other.Open("C", sample.String), sample.String, &sample.Sample{Bytes: make([]byte, 900<<10)})
		g.shard.cfg.Memory = short
		testclock.Advance(3 * time.Hour)
		for range 3 {
			testclock.Advance(time.Hour)
			m.put("A", m.some("A", time.Hour, 2000), g)
			m.checkpoint(g)
			if n := len(m.rows("A", simLevels[0])); n > 0 {
				t.Fatalf("%d tiles", n)
			}
			m.verifyAll()
		}
		g.shard.cfg.Memory = roomy
		m.checkpoint(g)
		m.converge()
	})
}

// TestPutOffRollupsOfAnEndedPVAreWritten ends the capture of a PV while rollups are put off. The sealer must
// not forget the PV before its last bins are in tiles: nobody else writes them.
func TestPutOffRollupsOfAnEndedPVAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 3, simLevels...)
		g := m.launch()
		roomy, short := g.shard.cfg.Memory, journal.NewMemory(1<<20)
		other := journal.NewShardJournal(1, store.NewWriter(), &journal.Config{Memory: short}) // it does not run
		other.Append(other.Open("C", sample.String), sample.String, &sample.Sample{Bytes: make([]byte, 900<<10)})
		g.shard.cfg.Memory = short
		testclock.Advance(3 * time.Hour)
		m.put("A", m.some("A", 3*time.Hour, 2000), g)
		for _, h := range g.shardJournal.Heads() {
			h.Retire()
		}
		for range 3 {
			m.checkpoint(g)
			testclock.Advance(time.Hour)
		}
		g.shard.cfg.Memory = roomy
		m.checkpoint(g)
		for _, l := range simLevels {
			_, sure := m.sealed("A", l)
			want := m.journalled("A", l)
			if through := m.verify("A", l, want, sure); through < want[len(want)-1].End() {
				t.Errorf("%v: the tiles end at %d, but the samples end at %d", l, through, want[len(want)-1].End())
			}
		}
		m.checkpoint(g)
		if n := len(g.shard.series); n > 0 {
			t.Errorf("the sealer has not forgotten %d PVs", n)
		}
	})
}

// TestAnOverwrittenTileIsCorrected checks that a sealer corrects an overwritten tile at its
// next checkpoint. Another sealer, which had not read the first one's late sample, overwrote
// the tile.
func TestAnOverwrittenTileIsCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1, simLevels...)
		first, second := m.launch(), m.launch()
		testclock.Advance(3 * time.Hour)
		m.put("A", m.some("A", 3*time.Hour, 1000), first)
		m.checkpoint(first)
		testclock.Advance(2 * time.Hour)
		m.put("A", m.some("A", 0, 1), first)
		m.checkpoint(first)
		m.checkpoint(second)
		for i := range 16 { // the writes have the same time, so either may win
			late := func(by *simEngine, ago time.Duration) {
				s := m.some("A", 0, 1)
				s[0].Time -= int64(3*time.Hour + ago)
				m.put("A", s, by)
			}
			late(second, time.Duration(i)*time.Minute)
			m.st.rolling = func() {
				late(first, time.Duration(i)*time.Minute+time.Second)
				m.checkpoint(first)
			}
			m.checkpoint(second)
			if m.st.rolling != nil {
				t.Fatal("a late sample changed no tile")
			}
			m.checkpoint(first)
			m.verifyAll()
		}
	})
}

// TestAPausedRepairKeepsNewerTiles pauses a sealer after it has read the blocks of a late sample's bin. In
// the meantime another sealer writes the tile with a later sample of the same bin. The tile must keep it.
func TestAPausedRepairKeepsNewerTiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1, simLevels...)
		first, second := m.launch(), m.launch()
		testclock.Advance(3 * time.Hour)
		m.put("A", m.some("A", 3*time.Hour, 1000), first)
		m.checkpoint(first)
		testclock.Advance(2 * time.Hour)
		m.put("A", m.some("A", 0, 1), first)
		m.checkpoint(first)
		m.checkpoint(second)
		for i := range int64(8) {
			late := func(by *simEngine, after time.Duration) {
				s := m.some("A", 0, 1)
				s[0].Time = rollup.Floor(time.Now().UnixNano()-int64(3*time.Hour)+i*int64(10*time.Minute), 10*tick) + int64(after)
				m.put("A", s, by)
			}
			late(second, time.Second)
			overtaken := false
			m.st.stored = func(b *store.Block) { // from now on second reads blocks only to compute bins
				m.st.stored = nil
				m.st.scanned = func() {
					overtaken = true
					late(first, 2*time.Second)
					m.checkpoint(first)
				}
			}
			m.checkpoint(second)
			if !overtaken {
				t.Fatal("no bin was computed")
			}
			m.verifyAll()
		}
	})
}
