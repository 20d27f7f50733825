package seal

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// Damage is what the sealers of an engine found damaged. Its methods may be called from any
// goroutine.
type Damage struct {
	mu    sync.Mutex
	known map[uint64]bool // by ID
	found Found
}

// Found is what was found damaged.
type Found struct {
	// Count is the number of blocks, journal rows and directory entries, and First describes the first one.
	Count int
	First string
	// IDs are the IDs of the first ones, at most MaxIDs. A block or a row has the same ID in every
	// engine, so that it can be counted once although several engines found it.
	IDs []uint64
}

// MaxIDs is the maximum number of IDs in Found.
const MaxIDs = 256

// note counts a damaged object, and reports whether it is new: no other sealer of the engine has found it before. key has all
// fields of the object's key. name describes the object, and is kept if it is the first one.
func (d *Damage) note(key, name string) (isNew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := xxhash.Sum64String(key)
	if d.known[id] {
		return false
	}
	if d.known == nil || len(d.known) >= maxReported {
		d.known = map[uint64]bool{}
	}
	d.known[id] = true
	if d.found.Count++; d.found.Count == 1 {
		d.found.First = name
	}
	if len(d.found.IDs) < MaxIDs {
		d.found.IDs = append(d.found.IDs, id)
	}
	return true
}

// Found returns what was found damaged since the engine started.
func (d *Damage) Found() Found {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := d.found
	found.IDs = slices.Clone(found.IDs)
	return found
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
	s.cfg.Metrics.Damaged.Inc()
	s.cfg.Log.Error("a block cannot be read, and the sealer goes on without it; run `varve store check`",
		"shard", s.shardJournal.Shard, "pv", d.Block.PV, "samples", d.Block.Count, "err", d)
	if m, lost := d.Lost(); lost { // not if a later version wrote the block
		s.cfg.found.note(fmt.Sprintf("block %q %d %d %v %d", key.PV, key.Bucket, key.Start, key.Writer, key.N), fmt.Sprintf("the block of %s that begins at %s", d.Block.PV, time.Unix(0, d.Block.Start).UTC().Format(time.RFC3339)))
		s.reportLost(d.Block.PV, m)
	}
}

// noteEntry reports that elements of a PV's directory entry cannot be read, once. No sample is lost.
func (s *Shard) noteEntry(c *store.Channel) {
	if c.Damaged == 0 || !s.cfg.found.note(fmt.Sprintf("entry %q", c.PV), "the directory entry of "+c.PV) {
		return
	}
	s.cfg.Metrics.Damaged.Inc()
	s.cfg.Log.Error("a part of the directory entry of a PV cannot be read, so deleted samples may be visible again; run `varve store check`, and delete them again",
		"shard", s.shardJournal.Shard, "pv", c.PV, "elements", c.Damaged)
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

// leaveOut reports a journal row that the sealer leaves out. It was read after the other rows in g.
func (s *Shard) leaveOut(row *store.JournalRow, g *gathering, err error) {
	delete(s.damage.rows, rowKey{row.Writer, row.At})
	s.cfg.Metrics.Damaged.Inc()
	s.cfg.found.note(fmt.Sprintf("row %d %v %d", row.Shard, row.Writer, row.At), fmt.Sprintf("row %d/%d in the journal of shard %d", row.At.N(), row.At.Seq(), row.Shard))
	s.cfg.Log.Error("a journal row cannot be read; its samples are lost", "shard", s.shardJournal.Shard,
		"writer", row.Writer.String(), "position", uint64(row.At), "err", err)
	m := sample.Mark{Time: g.captured, End: s.clock.Now().End, Kind: sample.Lost, Reason: sample.Damaged, Text: err.Error()}
	if t, failed := journal.FlushTime(*row); failed == nil {
		m.End = max(t, g.read) + int64(rowSlack)
	}
	pvs, failed := journal.Names(row.Index)
	for _, pv := range pvs {
		s.reportLost(pv, m)
	}
	if failed != nil {
		s.reportLost("", m) // the row may hold samples of other PVs, too
	}
}
