package seal

import (
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// putAndEnd appends samples to the journal of a writer that ends at once, like a segment of a spool.
func (m *simulation) putAndEnd(pv string, samples []sample.Sample) {
	sealer := m.sealer
	g := m.launch()
	m.setTerm(g, store.Follows)
	m.put(pv, samples, g)
	g.end()
	m.engines, m.sealer = m.engines[:len(m.engines)-1], sealer
}

// TestRowsStayForAFormerLeader passes leadership on during a checkpoint. The former leader has read the
// claims, but not yet the rows of a writer that has ended, and the new leader seals these rows first. The
// former leader then writes tiles. They must have the samples of these rows.
func TestRowsStayForAFormerLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1, simLevels...)
		m.leading = true
		former, next := m.launch(), m.launch()
		testclock.Advance(3 * time.Hour)
		m.put("A", m.some("A", 3*time.Hour, 1000), former)
		m.checkpoint(former)
		testclock.Advance(2 * time.Hour)
		m.putAndEnd("A", m.some("A", 2*time.Hour, 100))
		m.put("A", m.some("A", 2*time.Hour, 1000), former)
		m.st.looked = func() {
			m.lead(next)
			if err := next.shard.adoptEnded(t.Context()); err != nil {
				t.Error(err)
			}
		}
		m.checkpoint(former)
		m.verifyAll()
		for range 20 {
			m.compareBins("A")
		}
		m.setTerm(former, store.Follows)
		m.sealer = next
		m.checkpoint(next)
		if claims, _ := m.st.Claims(t.Context(), 0); len(claims) != 2 {
			t.Errorf("%d claims are left, want those of two engines", len(claims))
		}
		m.converge()
	})
}
