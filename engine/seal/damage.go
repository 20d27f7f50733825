package seal

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// Damage is what the sealers of an engine found damaged. Its methods may be called from any
// goroutine.
type Damage struct {
	mu    sync.Mutex
	count int
	first string
}

// note counts a damaged object. name describes it, and is kept if it is the first one.
func (d *Damage) note(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count++; d.count == 1 {
		d.first = name
	}
}

// Found returns how many stored objects were found damaged, and describes the first one. A block
// that several sealers found counts several times.
func (d *Damage) Found() (count int, first string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count, d.first
}

// rowGrace is how long a sealer reads a damaged journal row again and again before it leaves
// the row out. A replica that answers later may still have the bytes.
const rowGrace = 3 * time.Minute

// damage is what a sealer knows of damaged blocks and journal rows.
type damage struct {
	mu       sync.Mutex
	reported map[store.BlockKey]bool
	rows     map[rowKey]time.Time // when each damaged row was first seen
}

type rowKey struct {
	writer store.WriterID
	at     store.Position
}

// maxReported bounds the number of damaged blocks that a sealer remembers.
const maxReported = 1 << 14

// quarantine reports a damaged block, once. The sealer goes on without its samples.
func (s *Shard) quarantine(d *scan.Damaged) {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	key := d.Block.BlockKey
	if s.damage.reported[key] {
		return
	}
	if s.damage.reported == nil || len(s.damage.reported) >= maxReported {
		s.damage.reported = map[store.BlockKey]bool{}
	}
	s.damage.reported[key] = true
	s.cfg.Metrics.Corrupt.Inc()
	s.cfg.Log.Error("a block cannot be read, and the sealer goes on without it; run `varve store check`",
		"shard", s.shardJournal.Shard, "pv", d.Block.PV, "samples", d.Block.Count, "err", d)
	if m, lost := d.Lost(); lost { // not if a later version wrote the block
		s.cfg.found.note(fmt.Sprintf("the block of %s that begins at %s", d.Block.PV, time.Unix(0, d.Block.Start).UTC().Format(time.RFC3339)))
		s.reportLost(d.Block.PV, m)
	}
}

func (s *Shard) reportLost(pv string, m sample.Mark) {
	if s.cfg.Damaged != nil {
		s.cfg.Damaged(s.shardJournal.Shard, pv, m)
	}
}

// mustWait reports whether the rows of a writer must wait for one of them that cannot be read. It
// waits for rowGrace, or for an engine that knows the row's format.
func (s *Shard) mustWait(row *store.JournalRow, err error) bool {
	key := rowKey{row.Writer, row.At}
	since, known := s.damage.rows[key]
	if !known {
		if s.damage.rows == nil {
			s.damage.rows = map[rowKey]time.Time{}
		}
		since = time.Now()
		s.damage.rows[key] = since
		s.cfg.Log.Warn("a journal row cannot be read; the sealer tries again", "shard", s.shardJournal.Shard,
			"writer", row.Writer.String(), "position", uint64(row.At), "err", err)
	}
	return errors.Is(err, journal.ErrVersion) || time.Since(since) < rowGrace
}

// leaveOut reports a journal row that the sealer leaves out. The row was written after the
// time before, in ns since 1970.
func (s *Shard) leaveOut(row *store.JournalRow, before int64, err error) {
	delete(s.damage.rows, rowKey{row.Writer, row.At})
	s.cfg.Metrics.Corrupt.Inc()
	s.cfg.found.note(fmt.Sprintf("row %d/%d in the journal of shard %d", row.At.N(), row.At.Seq(), row.Shard))
	s.cfg.Log.Error("a journal row cannot be read; its samples are lost", "shard", s.shardJournal.Shard,
		"writer", row.Writer.String(), "position", uint64(row.At), "err", err)
	m := sample.Mark{Time: before, End: time.Now().UnixNano(), Kind: sample.Lost, Reason: sample.Damaged, Text: err.Error()}
	if t, failed := journal.FlushTime(*row); failed == nil {
		m.End = max(t, before)
	}
	pvs, failed := journal.Names(row.Index)
	for _, pv := range pvs {
		s.reportLost(pv, m)
	}
	if failed != nil {
		s.reportLost("", m) // the row may hold samples of other PVs, too
	}
}
