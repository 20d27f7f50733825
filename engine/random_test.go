package engine

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// engineGroup is a group of engines that share one store and do random things. One rule limits them:
// at least one engine with a reachable store captures each PV.
type engineGroup struct {
	t     *testing.T
	rng   *rand.Rand
	st    store.Store
	ioc   *taps
	lives fleet
	does  []Assignment // the assignment of each engine
	reads sync.RWMutex // held by reads, during which no bucket is dropped
	sent  int
	trace []string
}

// pvs holds one PV for each of the shards 0 and 1.
var pvs = []string{"A", "B"}

func (h *engineGroup) launch(i int) {
	h.lives[i] = launch(h.t, h.st, h.ioc, Options{Checkpoint: time.Duration(1+h.rng.IntN(40)) * time.Millisecond}, func(l *life) {
		l.store.reading, l.sealCfg.DropAfter = &h.reads, 20*time.Millisecond
	})
	h.does[i] = Assignment{}
}

// captured reports whether every PV would still be captured without the given engine.
func (h *engineGroup) captured(without int) bool {
	for shard := range pvs {
		by := 0
		for i, a := range h.does {
			if i != without && len(a[shard].Channels) > 0 && !h.lives[i].store.dead.Load() {
				by++
			}
		}
		if by == 0 {
			return false
		}
	}
	return true
}

// step changes something at a random engine and returns a description.
func (h *engineGroup) step() string {
	i := h.rng.IntN(len(h.lives))
	l := h.lives[i]
	what := h.rng.IntN(10)
	switch {
	case what == 0 && h.captured(i):
		h.end(l)
		h.launch(i)
		return fmt.Sprint("restart ", i)
	case what == 1 && h.captured(i) && !l.store.dead.Load():
		eventually(h.t, "samples are durable", func() bool { return l.Unsaved() == 0 })
		l.kill()
		h.launch(i)
		return fmt.Sprint("kill ", i)
	case what == 2 && h.captured(i):
		l.store.dead.Store(true)
		return fmt.Sprint("store away of ", i)
	case what <= 4:
		l.store.dead.Store(false)
		return fmt.Sprint("store back of ", i)
	}
	a := Assignment{}
	for shard, pv := range pvs {
		switch h.rng.IntN(4) {
		case 0: // not listed
		case 1:
			a[shard] = Shard{Seal: h.rng.IntN(2) == 0}
		default:
			a[shard] = one(shard, h.rng.IntN(2) == 0, pv)[shard]
			a[shard].Channels[0].Settings = h.settings()
		}
	}
	was := h.does[i]
	if h.does[i] = a; !h.captured(-1) {
		h.does[i] = was
		return "nothing"
	}
	l.Apply(a)
	return fmt.Sprintf("engine %d does %v", i, a)
}

// settings returns random settings that keep all samples of the test. Engines may learn of a
// change at different times, or never.
func (h *engineGroup) settings() *capture.Settings {
	tiers := []store.Tier{store.Forever, store.Forever, store.Keep5y, store.Keep10y}
	return &capture.Settings{Retention: store.Retention{Raw: tiers[h.rng.IntN(len(tiers))]}}
}

// read reads all PVs from all engines.
func (h *engineGroup) read(seed uint64) {
	h.reads.Lock()
	defer h.reads.Unlock()
	for _, pv := range pvs {
		wantAll(h.t, h.lives.reader(h.st), pv, h.sent, fmt.Sprintf("seed %d: %v", seed, h.trace))
	}
}

// end stops an engine in an orderly way. Its store may have been unreachable, so the pause of
// the shard journals may be longer than the grace period. end therefore waits first until all
// samples are durable.
func (h *engineGroup) end(l *life) {
	l.store.dead.Store(false)
	eventually(h.t, "samples are durable", func() bool { return l.Unsaved() == 0 })
	if n := l.end(); n != 0 {
		h.t.Fatalf("an engine ends with %d samples unsaved", n)
	}
}

// TestAnythingAtAnyTime does random things to engines that share shards. A read from all
// engines must always return every sample exactly once.
func TestAnythingAtAnyTime(t *testing.T) { doAnything(t, 1) }

func TestLong_AnythingAtAnyTime(t *testing.T) { doAnything(t, 4) }

// doAnything runs a number of herds, one after the other.
func doAnything(t *testing.T, herds int) {
	for range herds {
		seed := rand.Uint64()
		h := &engineGroup{
			t: t, rng: rand.New(rand.NewPCG(seed, 0)), st: openStore(t), ioc: &taps{},
			lives: make(fleet, 3), does: make([]Assignment, 3),
		}
		for shard, pv := range pvs {
			c := store.Channel{PV: pv, Shards: []int{shard}}
			if err := h.st.AddChannel(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		for i := range h.lives {
			h.launch(i)
		}
		all := Assignment{}
		for shard, pv := range pvs {
			all[shard] = one(shard, true, pv)[shard]
		}
		h.does[0] = all
		h.lives[0].Apply(all)
		for range 60 {
			h.trace = append(h.trace, h.step())
			for _, pv := range pvs {
				h.ioc.send(pv, h.sent, h.sent+50)
			}
			h.sent += 50
			h.read(seed)
		}
		h.finish(seed)
	}
}

// finish ends all engines and reads the stored samples.
func (h *engineGroup) finish(seed uint64) {
	for i, l := range h.lives {
		h.end(l)
		if s := l.Summary(); s.Dropped[sample.Overflow] != 0 || s.States[capture.Connected] != 0 {
			h.t.Errorf("seed %d: engine %d at the end: %+v", seed, i, s)
		}
	}
	for _, pv := range pvs {
		wantAll(h.t, fleet{}.reader(h.st), pv, h.sent, fmt.Sprintf("seed %d: at the end", seed))
	}
}
