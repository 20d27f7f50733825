package check

import (
	"fmt"
	"iter"
	"time"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/store"
)

// journal checks the claims of a shard and its unsealed rows.
func (l *pass) journal(shard int) {
	claims := 0
	read := func() iter.Seq2[store.Claim, error] {
		return func(yield func(store.Claim, error) bool) {
			claims, err := l.store.Claims(l.ctx, shard)
			if err != nil {
				yield(store.Claim{}, err)
			}
			for _, c := range claims {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
	for c := range readWhole(l, fmt.Sprintf("claims of shard %d", shard), read) {
		l.claim(&c)
		claims++
	}
	if shard < l.opts.Shards || claims > 0 { // the second half of the shards need not exist
		l.seen.Shards++
	}
}

// claim checks a claim and the rows of its writer after the sealed position.
func (l *pass) claim(c *store.Claim) {
	where := fmt.Sprintf("shard %d, writer %v", c.Shard, c.Writer)
	switch {
	case c.Epoch == 0:
		l.found(WrongClaim, where, "the epoch of the claim is 0")
	case c.Closed && c.Sealed > c.Last:
		l.found(WrongClaim, where, "the claim is sealed up to %s, beyond the writer's last row %s", positionName(c.Sealed), positionName(c.Last))
	}
	at, oldest, waiting := c.Sealed, l.now, 0
	for row := range l.rows(c.Shard, c.Writer, c.Sealed, c.Last) {
		if !follows(row.At, at) {
			l.found(MissingRow, where, "row %s follows row %s; the rows between them are lost", positionName(row.At), positionName(at))
		}
		at = row.At
		waiting++
		oldest = min(oldest, l.row(&row, where))
	}
	if c.Closed && waiting > 0 && at > c.Last {
		l.found(WrongClaim, where, "row %s follows the writer's last row %s", positionName(at), positionName(c.Last))
	}
	if at < c.Last {
		which := "acknowledged"
		if c.Closed {
			which = "last"
		}
		l.found(MissingRow, where, "the rows after %s up to the writer's %s row %s are lost", positionName(at), which, positionName(c.Last))
	}
	if age := time.Duration(l.now - oldest); l.opts.JournalTTL > 0 && age > l.opts.JournalTTL/4 {
		l.found(Unsealed, where, "%d rows are not sealed, the oldest for %v; rows expire after %v",
			waiting, age.Round(time.Second), l.opts.JournalTTL)
	}
}

// follows reports whether a position directly follows another.
func follows(at, last store.Position) bool {
	return at == last+1 && last != 0 || at == store.At(last.N()+1, 1)
}

// row checks a row and returns the time at which it was made.
func (l *pass) row(row *store.JournalRow, where string) int64 {
	made, err := journal.FlushTime(*row)
	if err == nil {
		err = row.Damage
	}
	if err == nil {
		_, err = journal.Decode(*row)
	}
	if err != nil {
		l.found(DamagedRow, where, "row %s: %v", positionName(row.At), err)
		return l.now
	}
	l.seen.Rows++
	return made
}

func positionName(p store.Position) string { return fmt.Sprintf("%d/%d", p.N(), p.Seq()) }
