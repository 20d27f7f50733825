package query

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// answerKind is how an engine answers a request for recent samples.
type answerKind int

const (
	answersAll   answerKind = iota // with all samples in memory
	answersRest                    // with the samples in memory; others were released to the journal
	answersBusy                    // how far it is flushed
	answersNever                   // not at all
	numAnswers
)

// writerLife is a writer that captures a PV from its birth until it closes, if it does.
type writerLife struct {
	id           store.WriterID
	shard        int
	born, closed int64 // closed is 0 if the writer lives
	claimed      int64 // the claim says that all samples before this time are in rows
	flushed      int64 // all samples before this time are in rows
	answer       answerKind
	samples      []typed // by arrival
}

// lives returns random writers of a shard. Their samples arrive at the times that they carry.
func lives(rng *rand.Rand, now int64) (all []*writerLife) {
	for i := range 1 + rng.IntN(3) {
		w := &writerLife{id: writer(byte(10 + i)), shard: home(), born: epoch + rng.Int64N(now-epoch), answer: answerKind(rng.IntN(int(numAnswers)))}
		if rng.IntN(5) == 0 {
			w.shard = (home() + 1) % testShards
		}
		w.flushed = w.born + rng.Int64N(now-w.born+1)
		w.claimed = w.born + rng.Int64N(w.flushed-w.born+1)
		if rng.IntN(4) == 0 {
			w.closed = w.flushed
		}
		for range rng.IntN(30) {
			end := now
			if w.closed != 0 {
				end = w.closed
			}
			w.samples = append(w.samples, float(w.born+rng.Int64N(end-w.born+1), float64(rng.IntN(1000))))
		}
		slices.SortFunc(w.samples, func(x, y typed) int { return int(min(1, max(-1, x.Time-y.Time))) })
		all = append(all, w)
	}
	return all
}

// install stores the flushed samples of a writer as a few rows, some of which are sealed, and adds
// its answer.
func (a *archive) install(w *writerLife) {
	c := store.Claim{Shard: w.shard, Writer: w.id, Epoch: 1, Since: w.born, Alive: w.claimed, Saved: w.claimed, Closed: w.closed != 0}
	a.claim[w.id] = &c
	a.check(a.store.PutClaim(a.t.Context(), c))
	inRows, sealed := 0, 0
	for _, s := range w.samples {
		if s.Time < w.flushed || w.closed != 0 {
			inRows++
		}
	}
	for at := 0; at < inRows; {
		to := min(inRows, at+1+a.rng.IntN(20))
		position := a.row(w.id, w.shard, w.samples[at:to]...)
		if at == sealed && a.rng.IntN(2) == 0 {
			a.block(w.id, store.Day.Of(epoch), w.samples[at:to]...)
			a.reader() // writes the block
			a.check(a.store.Seal(a.t.Context(), w.shard, w.id, position))
			sealed = to
		}
		at = to
	}
	a.held.Shards = append(a.held.Shards, w.shard)
	switch w.answer {
	case answersAll:
		a.held.Add(Held{Covers: []store.WriterID{w.id}, Runs: runsOf(w.samples[sealed:])})
	case answersRest:
		a.held.Add(Held{Flushed: []Flushed{{w.id, Latest}}, Runs: runsOf(w.samples[inRows:])})
	case answersBusy:
		a.held.Add(Held{Unanswered: true, Flushed: []Flushed{{w.id, w.claimed + a.rng.Int64N(w.flushed-w.claimed+1)}}})
	case answersNever:
		a.held.Add(Held{Unanswered: true})
	}
}

func runsOf(samples []typed) []*sample.Run {
	if len(samples) == 0 {
		return nil
	}
	return []*sample.Run{run(samples)}
}

// knownUntil returns the time up to which the claims alone show that no sample is missing.
func knownUntil(all []*writerLife, unanswered bool) int64 {
	until := int64(Latest)
	for shard := range testShards {
		open, closed := false, int64(Latest)
		for _, w := range all {
			switch {
			case w.shard != shard:
			case w.closed == 0:
				if open = true; w.answer >= answersBusy {
					until = min(until, w.claimed)
				}
			case closed == Latest || w.claimed > closed:
				closed = w.claimed
			}
		}
		if !open && unanswered { // an engine without a claim may capture the PV
			until = min(until, closed)
		}
	}
	return until
}

// TestSamplesBeforeCompleteUntilAreThere splits the samples of random writers between memory,
// journal and blocks. Some of their engines are busy, and some do not answer. All samples that
// arrived before CompleteUntil must be in the result, and CompleteUntil must not be earlier than
// the claims show.
func TestSamplesBeforeCompleteUntilAreThere(t *testing.T) { checkCompleteness(t, 0, 15) }

func TestLong_SamplesBeforeCompleteUntilAreThere(t *testing.T) { checkCompleteness(t, 15, 400) }

func checkCompleteness(t *testing.T, first, last uint64) {
	lags, whole := 0, 0
	for seed := first; seed < last; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if newArchive(t, seed).checkCompleteness() {
				whole++
			} else {
				lags++
			}
		})
	}
	if lags == 0 || whole == 0 {
		t.Errorf("%d reads lag and %d do not", lags, whole)
	}
}

// checkCompleteness fills the archive and compares the result of a read with CompleteUntil. It
// returns whether the result is complete.
func (a *archive) checkCompleteness() (complete bool) {
	a.now = epoch + 1000*second
	all := lives(a.rng, a.now)
	a.held = Held{Known: true}
	for _, w := range all {
		a.install(w)
	}
	got, until := a.readUntil(epoch-second, a.now)
	there := map[sampleKey]bool{}
	for _, s := range got {
		there[s.key()] = true
	}
	for _, w := range all {
		for _, s := range w.samples {
			if s.Time < until && !there[s.key()] {
				a.t.Fatalf("the result is complete until %d, but lacks the sample of %d of %+v", until-epoch, s.Time-epoch, w)
			}
		}
	}
	if known := knownUntil(all, a.held.Unanswered); until < known {
		a.t.Fatalf("the result is complete until %d only, but all samples before %d are there", until-epoch, known-epoch)
	}
	return until == Latest
}

// completeUntil returns when the result of a read is complete, in ns after epoch, or -1 if it lacks
// no sample.
func (a *archive) completeUntil() int64 {
	if _, until := a.readUntil(epoch, epoch+day); until < Latest {
		return until - epoch
	}
	return -1
}

// TestCompleteUntil checks which answers of engines, and which claims, make a result lag.
func TestCompleteUntil(t *testing.T) {
	const everything = -1
	a := newArchive(t, 1)
	a.now = epoch + second
	a.directory(store.Channel{Shards: []int{3}})
	claim := func(w byte, shard int, saved int64, closed bool) {
		a.check(a.store.PutClaim(t.Context(), store.Claim{Shard: shard, Writer: writer(w), Epoch: uint64(w), Saved: epoch + saved, Closed: closed}))
	}
	claim(1, home(), 100, false)
	claim(2, 5, 200, true)
	claim(3, 3, 50, false)
	covers := []store.WriterID{writer(1)}
	for name, c := range map[string]struct {
		held Held
		want int64
	}{
		"the engine answers":                       {Held{Known: true, Shards: []int{home()}, Covers: covers}, everything},
		"no engine captures the PV":                {Held{Known: true}, everything},
		"an engine may hold a removed PV":          {Held{Known: true, Unanswered: true, Covers: covers}, 50},
		"the engine does not answer":               {Held{Known: true, Shards: []int{home()}, Unanswered: true}, 50},
		"an engine that nobody knows":              {Held{Known: true, Shards: []int{home()}}, 100},
		"the engine is busy":                       {Held{Known: true, Shards: []int{home()}, Flushed: []Flushed{{writer(1), epoch + 150}}}, 150},
		"the busy engine is behind its claim":      {Held{Known: true, Shards: []int{home()}, Flushed: []Flushed{{writer(1), epoch + 70}}}, 100},
		"the rest is in the journal":               {Held{Known: true, Shards: []int{home()}, Flushed: []Flushed{{writer(1), Latest}}}, everything},
		"another engine was connected":             {Held{Known: true, Shards: []int{home()}, Connected: epoch + 100}, everything},
		"another engine was not connected yet":     {Held{Known: true, Shards: []int{home()}, Connected: epoch + 101}, 100},
		"the writer has closed":                    {Held{Known: true, Shards: []int{5}}, everything},
		"the next writer has no claim":             {Held{Known: true, Shards: []int{5}, Unanswered: true, Covers: append(covers, writer(3))}, 200},
		"the first writer of a shard has no claim": {Held{Known: true, Shards: []int{6}, Unanswered: true, Covers: append(covers, writer(3))}, Earliest - epoch},
	} {
		a.held = c.held
		if got := a.completeUntil(); got != c.want {
			t.Errorf("%s: the result is complete until %d, want %d", name, got, c.want)
		}
		bins, err := a.reader().Bins(t.Context(), testPV, epoch, epoch+day, 10, BinOptions{})
		a.check(err)
		if c.want == everything && bins.CompleteUntil != Latest || c.want != everything && bins.CompleteUntil != epoch+c.want {
			t.Errorf("%s: the bins are complete until %d, want %d", name, bins.CompleteUntil-epoch, c.want)
		}
	}
	// Much later, a writer in a former shard of the PV still has not saved its samples.
	a.now = epoch + 60*second
	for name, c := range map[string]struct {
		held Held
		want int64
	}{
		"the engine answers":                       {Held{Known: true, Shards: []int{home()}, Covers: covers}, 50},
		"the engines of both shards answer":        {Held{Known: true, Shards: []int{home()}, Covers: append(covers, writer(3))}, everything},
		"the rest of the writer is in the journal": {Held{Known: true, Shards: []int{home()}, Covers: covers, Flushed: []Flushed{{writer(3), Latest}}}, everything},
		"the engine was connected all the time":    {Held{Known: true, Shards: []int{home()}, Covers: covers, Connected: epoch + 50}, everything},
	} {
		a.held = c.held
		if got := a.completeUntil(); got != c.want {
			t.Errorf("much later: %s: the result is complete until %d, want %d", name, got, c.want)
		}
	}
	alone := a.reader()
	alone.Recent = nil
	s, err := alone.Read(t.Context(), testPV, epoch, epoch+day, Options{})
	a.check(err)
	if s.CompleteUntil != epoch+50 {
		t.Errorf("without engines the result is complete until %d, want 50", s.CompleteUntil-epoch)
	}
}
