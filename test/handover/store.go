package handover

import (
	"slices"
	"time"
)

// sample is a captured update: the n-th of its PV.
type sample struct {
	n  int
	at time.Duration // its timestamp, which the IOC set
}

// writer identifies a writer of rows or blocks. An ID is never reused.
type writer int

// claim is the claim of one writer.
type claim struct {
	writer writer
	epoch  int
	alive  time.Duration // by the writer's clock
	saved  time.Duration // all samples that its engine had by then, by a right clock, are in acknowledged rows
	closed bool
	last   int
	term   int           // 0: does not seal
	sealed int           // sealed position: all rows up to it are in blocks
	stamp  time.Duration // of the latest write
}

// stamped is a claim as the store keeps it. The write or the deletion with the greater stamp
// wins, regardless of the order in which they arrive.
type stamped struct {
	claim
	written, dropped time.Duration
}

func (c *stamped) stands() bool { return c.written > c.dropped }

// row is one row of a writer's journal.
type row struct {
	writer  writer
	at      int           // position
	saved   time.Duration // all samples that its engine had by then are in rows up to this one
	samples []sample
}

// blockKey identifies a block.
type blockKey struct {
	writer writer
	n      int
}

type block struct {
	blockKey
	stamp   int // counts the writes of its writer
	samples []sample
	until   time.Duration // when the store deletes the block
}

// mark records that samples may be missing between two times.
type mark struct{ from, to time.Duration }

// table is the store's data of one shard, which has one PV.
type table struct {
	claims []*stamped
	rows   []row
	blocks []block
	marks  []mark
	// moved counts changes that a concurrent reader may see: raised positions and dropped claims.
	moved int
}

func (t *table) claim(w writer) *stamped {
	for _, c := range t.claims {
		if c.writer == w {
			return c
		}
	}
	c := &stamped{claim: claim{writer: w}, dropped: 0, written: -1}
	t.claims = append(t.claims, c)
	return c
}

// putClaim writes a claim, except its sealed position.
func (t *table) putClaim(c claim, stamp time.Duration) {
	have := t.claim(c.writer)
	if stamp <= have.written {
		return
	}
	sealed := have.sealed
	have.claim, have.written = c, stamp
	have.stamp = stamp
	have.sealed = sealed
}

// dropClaim deletes a claim unless it was written after upTo. Its sealed position stays.
func (t *table) dropClaim(w writer, upTo time.Duration) (dropped bool) {
	c := t.claim(w)
	stood := c.stands()
	c.dropped = max(c.dropped, upTo)
	if !stood || c.stands() {
		return false
	}
	t.moved++
	return true
}

// seal raises the sealed position of a writer.
func (t *table) seal(w writer, to int) {
	if c := t.claim(w); to > c.sealed {
		c.sealed = to
		t.moved++
	}
}

// standing returns the claims that are not deleted, the highest epoch first.
func (t *table) standing() (out []claim) {
	for _, c := range t.claims {
		if c.stands() {
			out = append(out, c.claim)
		}
	}
	slices.SortFunc(out, func(a, b claim) int {
		if a.epoch != b.epoch {
			return b.epoch - a.epoch
		}
		return int(a.writer - b.writer)
	})
	return out
}

// putRow writes a row. Two rows with the same key are equal, unless a writer's ID is reused.
func (t *table) putRow(r row) {
	for i := range slices.Backward(t.rows) {
		if t.rows[i].writer == r.writer && t.rows[i].at == r.at {
			t.rows[i] = r
			return
		}
	}
	t.rows = append(t.rows, r)
}

// after returns the rows of a writer after a position, in order.
func (t *table) after(w writer, position int) (out []row) {
	for _, r := range t.rows {
		if r.writer == w && r.at > position {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b row) int { return a.at - b.at })
	return out
}

// putBlock writes a block. A write with an older stamp than the stored block changes nothing.
func (t *table) putBlock(b block) {
	for i := range t.blocks {
		if have := &t.blocks[i]; have.blockKey == b.blockKey {
			if b.stamp >= have.stamp {
				*have = b
			}
			return
		}
	}
	t.blocks = append(t.blocks, b)
}

// standingBlocks returns the blocks that have not expired.
func (t *table) standingBlocks(now time.Duration) (out []block) {
	for _, b := range t.blocks {
		if b.until > now {
			out = append(out, b)
		}
	}
	return out
}

// storage is the store with the tables of all shards.
type storage struct {
	tables    []table
	awayUntil time.Duration
}
