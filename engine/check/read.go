package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"varve.dev/varve/engine/store"
)

const (
	// tries is how often a read that fails is begun again, after pauses that double.
	tries      = 4
	firstPause = 100 * time.Millisecond
	// away is after how many reads in a row that were given up nothing more is tried.
	away = 20
	// readBytes is what a read counts as beside the bytes of rows.
	readBytes = 512
)

// again yields what read yields, and reads again after an error, from where after
// says: read is given the last row that it yielded, or nil. An error that stays ends
// the sequence, and is a finding.
func again[T any](l *look, kind Kind, where string, read func(last *T) iter.Seq2[T, error], size func(*T) int) iter.Seq[T] {
	return func(yield func(T) bool) {
		var last *T
		pause := firstPause
		for try := 1; ; try++ {
			var failed error
			l.spend(readBytes)
			for row, err := range read(last) {
				if failed = err; err != nil {
					break
				}
				l.spend(size(&row))
				last, try = &row, 1
				if !yield(row) {
					return
				}
			}
			if failed == nil {
				l.checker.failed.Store(0)
				return
			}
			if l.ctx.Err() != nil {
				return
			}
			if try == tries {
				l.giveUp(kind, where, failed)
				return
			}
			sleep(l.ctx, pause)
			pause *= 2
		}
	}
}

// giveUp notes that rows can not be read. If nothing can any more, the check ends.
func (l *look) giveUp(kind Kind, where string, err error) {
	l.found(kind, where, "what follows can not be read: %v", err)
	if l.checker.failed.Add(1) >= away {
		l.abort(fmt.Errorf("%w: %w", ErrAway, err))
	}
}

// blocks yields all blocks in a bucket.
func (l *look) blocks(b store.Bucket) iter.Seq[store.Block] {
	read := func(last *store.Block) iter.Seq2[store.Block, error] {
		from := int64(minTime)
		if last != nil && last.Start > b.Start() { // else carried-forward ones may follow, which end before
			from = last.Start
		}
		return func(yield func(store.Block, error) bool) {
			for blk, err := range l.store.Blocks(l.ctx, l.pv, b, from, maxTime) {
				if err == nil && last != nil && compare(&blk.BlockKey, &last.BlockKey) <= 0 {
					continue
				}
				if !yield(blk, err) {
					return
				}
			}
		}
	}
	return again(l, Unreadable, bucketName(b), read, func(b *store.Block) int { return len(b.Blob) })
}

// compare orders the blocks of a bucket as a store yields them.
func compare(a, b *store.BlockKey) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.Writer[:], b.Writer[:]), cmp.Compare(a.N, b.N))
}

// rows yields the rows of a writer after a position.
func (l *look) rows(shard int, w store.WriterID, after store.Position) iter.Seq[store.JournalRow] {
	read := func(last *store.JournalRow) iter.Seq2[store.JournalRow, error] {
		if last != nil {
			after = last.At
		}
		return l.store.Journal(l.ctx, shard, w, after)
	}
	return again(l, Unreadable, fmt.Sprintf("journal of writer %v in shard %d", w, shard), read,
		func(r *store.JournalRow) int { return len(r.Index) + len(r.Blob) })
}

// once yields what a sequence yields that is short, and is read as a whole.
func once[T any](l *look, where string, read func() iter.Seq2[T, error]) iter.Seq[T] {
	n := 0
	return again(l, Unreadable, where, func(*T) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			skip := n
			for row, err := range read() {
				if err == nil && skip > 0 {
					skip--
					continue
				}
				if n++; !yield(row, err) {
					return
				}
			}
		}
	}, func(*T) int { return 0 })
}

// pace spreads the reading of bytes over time.
type pace struct {
	mu   sync.Mutex
	next time.Time // when what was read until now is paid for
}

// spend counts bytes that were read, and waits while they are more than the rate
// allows.
func (l *look) spend(n int) {
	l.checker.bytes.Add(int64(n))
	l.seen.Bytes += int64(n)
	if l.opts.Rate <= 0 {
		return
	}
	p := &l.checker.pace
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(float64(n) / l.opts.Rate * float64(time.Second)))
	wait := p.next.Sub(now)
	p.mu.Unlock()
	const patience = 50 * time.Millisecond // shorter sleeps add up to one
	if wait > patience {
		sleep(l.ctx, wait)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
