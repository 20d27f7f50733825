package seal

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// expireRows deletes the rows of a writer that the store no longer has.
func (m *simulation) expireRows(w store.WriterID, expired func(at store.Position) bool) {
	_ = m.st.with(func() {
		m.st.journal[w] = slices.DeleteFunc(m.st.journal[w], func(r store.JournalRow) bool { return expired(r.At) })
	})
}

// TestRowsBehindExpiredOnes checks that the rows of a writer are sealed although older rows have
// expired, and whole partitions with them, because nothing was sealed for long.
func TestRowsBehindExpiredOnes(t *testing.T) {
	for name, closed := range map[string]bool{"Closed": true, "Alive": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newSimulation(t, 1)
				first := m.launch()
				for range 6 { // a partition each
					m.putRow(first, 10, "A")
					time.Sleep(2 * time.Minute)
				}
				if closed {
					first.end()
				}
				m.expireRows(first.shardJournal.Writer(), func(at store.Position) bool { return at.N() < 5 })
				second := m.launch()
				m.lead(second)
				m.checkpoint(second)
				if n := m.inBlocks("A"); n != 20 {
					t.Errorf("%d samples are sealed, want the 20 in the rows that have not expired", n)
				}
			})
		})
	}
}

// TestExpiredRowsAreMarked checks that rows that expired before they were sealed are counted and
// marked, once, for the time in which their samples were captured, and that the claim of their
// writer goes. Positions that a writer did not use are no loss.
func TestExpiredRowsAreMarked(t *testing.T) {
	const rows, ttl = 6, 24 * time.Hour
	for name, c := range map[string]struct {
		expired    func(at store.Position) bool
		age        time.Duration // of the last row when the next engine comes
		rows       float64
		from, to   int // the samples that the mark covers, by row
		held, none bool
	}{
		"TheFirst":        {expired: func(at store.Position) bool { return at.N() < 4 }, rows: 3, from: 0, to: 2},
		"All":             {expired: func(store.Position) bool { return true }, age: ttl + time.Minute, rows: rows, from: 0, to: rows - 1},
		"AllMayComeBack":  {expired: func(store.Position) bool { return true }, age: ttl / 2, none: true, held: true},
		"APositionUnused": {expired: func(at store.Position) bool { return at == store.At(3, 1) }, none: true},
		"RowsOfAPartition": {expired: func(at store.Position) bool { return at.N() < 3 || at == store.At(3, 1) },
			age: ttl - 8*time.Minute, rows: 3, from: 0, to: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newSimulation(t, 1)
				m.st.ttl = ttl
				first := m.launch()
				time.Sleep(time.Second)
				for range rows {
					m.putRow(first, 10, "A")
					if name == "APositionUnused" || name == "RowsOfAPartition" {
						time.Sleep(10 * time.Second)
						m.putRow(first, 10, "B")
					}
					time.Sleep(2 * time.Minute)
				}
				first.end()
				w := first.shardJournal.Writer()
				m.expireRows(w, c.expired)
				time.Sleep(c.age)
				second := m.launch()
				losses := second.collectLosses()
				m.lead(second)
				for range 3 {
					m.checkpoint(second)
				}
				var got dto.Metric
				if err := second.shard.cfg.Metrics.ExpiredRows.Write(&got); err != nil {
					t.Fatal(err)
				}
				if n := got.GetCounter().GetValue(); n != c.rows {
					t.Errorf("%v rows are counted, want %v", n, c.rows)
				}
				if _, held := m.st.claims[w]; held != c.held {
					t.Errorf("the store holds the claim of the ended writer: %v", held)
				}
				if c.none {
					if len(*losses) > 0 {
						t.Errorf("losses are reported: %+v", *losses)
					}
					return
				}
				if len(*losses) != 1 {
					t.Fatalf("losses are reported: %+v, want one", *losses)
				}
				l, all := (*losses)[0], m.all["A"]
				if l.Kind != sample.Lost || l.pv != "" || l.Time > all[10*c.from].Time || l.End < all[10*c.to+9].Time ||
					10*c.to+10 < len(all) && l.End > all[10*c.to+19].Time+int64(10*time.Second+rowSlack) {
					t.Errorf("the mark is %+v, want one of the samples from %d to %d", l, all[10*c.from].Time, all[10*c.to+9].Time)
				}
			})
		})
	}
}

// TestTheMarkOfExpiredRowsCoversEarlierSamples checks that the mark begins before the samples of expired rows. A row may
// have samples from before the previous row was built: all rows of a pass over the PVs have those since the pass before.
func TestTheMarkOfExpiredRowsCoversEarlierSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1)
		m.st.ttl = 24 * time.Hour
		first := m.launch()
		time.Sleep(time.Minute)
		earlier := time.Now().UnixNano()
		time.Sleep(2 * time.Minute)
		m.putRow(first, 10, "A")
		time.Sleep(2 * time.Minute) // the next row is in another partition
		first.shardJournal.Append(first.shardJournal.Open("B", simTypes["B"]), simTypes["B"], &sample.Sample{Time: earlier})
		m.putRow(first, 10, "B")
		time.Sleep(2 * time.Minute)
		m.putRow(first, 10, "A")
		first.end()
		m.expireRows(first.shardJournal.Writer(), func(at store.Position) bool { return at.N() == 2 })
		second := m.launch()
		losses := second.collectLosses()
		m.lead(second)
		m.checkpoint(second)
		if l := *losses; len(l) != 1 || l[0].Time > earlier || l[0].End < m.all["B"][9].Time {
			t.Errorf("losses are reported: %+v, want one from %d to %d", l, earlier, m.all["B"][9].Time)
		}
	})
}

// TestTheMarkOfExpiredRowsBoundsAWriterWithoutAClock checks that the mark covers all samples of expired rows,
// although the writer knew nothing of its clock: its rows have the earliest time that they may have.
func TestTheMarkOfExpiredRowsBoundsAWriterWithoutAClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1)
		m.st.ttl = 24 * time.Hour
		m.now = func() clock.Instant {
			at := clock.At(time.Now().UnixNano())
			at.Begin, at.End = at.Now-int64(clock.Widest), at.Now+int64(clock.Widest)
			at.Monotonic, at.Guess = time.Duration(at.Now), true
			return at
		}
		first := m.launch()
		m.now = nil
		for range 2 {
			time.Sleep(2 * time.Minute)
			m.putRow(first, 10, "A")
		}
		first.end()
		w := first.shardJournal.Writer()
		m.expireRows(w, func(at store.Position) bool { return at.N() < 2 })
		second := m.launch()
		losses := second.collectLosses()
		m.lead(second)
		m.checkpoint(second)
		lost := m.all["A"][:10]
		if len(*losses) != 1 || (*losses)[0].Time > lost[0].Time || (*losses)[0].End < lost[9].Time {
			t.Errorf("the losses are %+v, want one from %d to %d", *losses, lost[0].Time, lost[9].Time)
		}
	})
}

// TestASecondAttemptMarksWhatItCouldHaveLost checks that rows which expired after earlier rows of their writer were
// sealed are marked from a time near their samples, and not from the start of the writer. A writer whose samples waited
// for the store has samples in its next row that are older than its last row.
func TestASecondAttemptMarksWhatItCouldHaveLost(t *testing.T) {
	for name, dead := range map[string]bool{"Closed": false, "Dead": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const rows, sealed, ttl = 6, 3, 24 * time.Hour
				m := newSimulation(t, 1)
				m.st.ttl = ttl
				first := m.launch()
				second := m.launch()
				m.lead(second)
				for i := range rows {
					time.Sleep(2 * time.Minute)
					m.putRow(first, 10, "A")
					if i == sealed-1 {
						time.Sleep(10 * time.Second) // the claim names the row
						m.checkpoint(second)
					}
				}
				first.end()
				w := first.shardJournal.Writer()
				m.expireRows(w, func(at store.Position) bool { return at.N() > sealed })
				if dead {
					_ = m.st.with(func() {
						c := m.st.claims[w]
						c.Closed = false
						m.st.claims[w] = c
					})
				}
				failed := false
				second.shard.cfg.Died = func(context.Context, int, int64, int64) error {
					if failed {
						return nil
					}
					failed = true
					return errors.New("the list of PVs that left cannot be read")
				}
				losses := second.collectLosses()
				for range 3 {
					time.Sleep(ttl / 2)
					_, _ = second.shard.adopt(t.Context(), true)
				}
				kept, lost := m.all["A"][10*sealed-1], m.all["A"][10*sealed:]
				if len(*losses) != 1 || failed != dead {
					t.Fatalf("losses are reported: %+v, want one; an attempt failed: %v", *losses, failed)
				}
				if l := (*losses)[0]; l.Time <= kept.Time || l.Time > lost[0].Time || l.End < lost[len(lost)-1].Time {
					t.Errorf("the mark is %+v, want one that begins between %d and %d and ends after %d", l, kept.Time, lost[0].Time, lost[len(lost)-1].Time)
				}
			})
		})
	}
}

// TestExpiredRowsOfADeadWriterCountOnce checks that rows that expired are counted and marked once, although the
// death of their writer cannot be marked at first.
func TestExpiredRowsOfADeadWriterCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows = 3
		m := newSimulation(t, 1)
		m.st.ttl = 24 * time.Hour
		first := m.launch()
		for range rows {
			m.putRow(first, 10, "A")
			time.Sleep(2 * time.Minute)
		}
		first.end()
		w := first.shardJournal.Writer()
		m.expireRows(w, func(store.Position) bool { return true })
		_ = m.st.with(func() {
			c := m.st.claims[w]
			c.Closed = false
			m.st.claims[w] = c
		})
		second := m.launch()
		tries := 0
		second.shard.cfg.Died = func(context.Context, int, int64, int64) error {
			if tries++; tries < 3 {
				return errors.New("the list of PVs that left cannot be read")
			}
			return nil
		}
		losses := second.collectLosses()
		m.lead(second)
		for range 5 {
			_, _ = second.shard.adopt(t.Context(), true)
			time.Sleep(20 * time.Second)
		}
		var got dto.Metric
		if err := second.shard.cfg.Metrics.ExpiredRows.Write(&got); err != nil {
			t.Fatal(err)
		}
		if n := got.GetCounter().GetValue(); n != rows || len(*losses) != 1 || tries != 3 {
			t.Errorf("%v rows are counted, and the losses are %+v, after %d attempts to mark the death", n, *losses, tries)
		}
	})
}

// TestExpiredRowsOfAWriterWithAWrongClock checks that the loss of all rows of a writer is marked after the usual time, and
// that the mark does not end in the future, although the writer's clock was ahead or behind. The time Saved in its claim
// is right.
func TestExpiredRowsOfAWriterWithAWrongClock(t *testing.T) {
	const ttl, year = 24 * time.Hour, 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		ahead time.Duration
		dead  bool
	}{
		"Ahead": {year, false}, "Behind": {-year, false}, "Dead, ahead": {year, true}, "Dead, behind": {-year, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newSimulation(t, 1)
				m.st.ttl = ttl
				first := m.launch()
				for range 3 {
					time.Sleep(2 * time.Minute)
					m.putRow(first, 10, "A")
				}
				first.end()
				w := first.shardJournal.Writer()
				_ = m.st.with(func() {
					claim := m.st.claims[w]
					claim.Alive, claim.Closed = claim.Alive+int64(c.ahead), !c.dead
					m.st.claims[w] = claim
				})
				m.expireRows(w, func(store.Position) bool { return true })
				time.Sleep(ttl + 10*time.Minute)
				second := m.launch()
				losses := second.collectLosses()
				m.lead(second)
				for range 3 {
					m.checkpoint(second)
					time.Sleep(time.Minute)
				}
				all := m.all["A"]
				if l := *losses; len(l) != 1 || l[0].Time > all[0].Time || l[0].End < all[len(all)-1].Time || l[0].End > time.Now().UnixNano()+int64(rowSlack) {
					t.Errorf("the losses are %+v, want one from %d to %d", l, all[0].Time, all[len(all)-1].Time)
				}
				held := false
				_ = m.st.with(func() { _, held = m.st.claims[w] })
				if held {
					t.Error("the claim of the ended writer stays")
				}
			})
		})
	}
}

// TestUnsealedRowsAreKept checks that no row expires while no blocks can be written for longer than
// the journal keeps rows, and that the lag is known. The rows are those of the leader and of a
// writer that has ended.
func TestUnsealedRowsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 24 * time.Hour
		m := newSimulation(t, 1)
		m.st.ttl = ttl
		first := m.launch()
		for range 100 {
			m.putRow(first, 10, "A")
			time.Sleep(time.Minute)
		}
		first.end()

		refuse := func(f func(*store.Block) error) { _ = m.st.with(func() { m.st.refuse = f }) }
		refuse(func(*store.Block) error { return errors.New("the table refuses blocks") })
		second := m.launch()
		ctx, end := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { second.shard.Run(ctx) })
		for hour := range 60 {
			m.putRow(second, 10, "A")
			time.Sleep(time.Hour)
			if l := second.shard.Lag(); hour == 2 && l.Late() || hour >= 8 && (!l.Late() || l.Age < time.Duration(hour)*time.Hour) {
				t.Errorf("after %d hours the lag is %+v", hour, l)
			}
		}
		end()
		wg.Wait()
		second.end()
		refuse(nil)
		third := m.launch()
		m.lead(third)
		m.checkpoint(third)
		if n := m.inBlocks("A"); n != 1600 {
			t.Errorf("%d samples are sealed, want all 1600", n)
		}
		if err := third.shard.preserveRows(t.Context(), ttl); err != nil || third.shard.Lag().Late() {
			t.Errorf("at the end the lag is %+v, %v", third.shard.Lag(), err)
		}
		var renewed dto.Metric
		_ = second.shard.cfg.Metrics.RenewedRows.Write(&renewed)
		if n := renewed.GetCounter().GetValue(); n < 400 || n > 900 {
			t.Errorf("%v rows were written again; want each of 160 about every 12 hours", n)
		}
	})
}
