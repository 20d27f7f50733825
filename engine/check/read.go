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
	// tries is the number of tries of a read. The pauses between them double.
	tries      = 4
	firstPause = 100 * time.Millisecond
	// maxFailed is the number of failed reads in a row after which the check ends.
	maxFailed = 20
	// readBytes is the number of bytes that a read counts in addition to its rows.
	readBytes = 512
)

// retry yields the rows that read yields. After an error it calls read again with the last
// row, or nil if there was none, so that read can continue after that row. If the error
// persists, retry adds a finding and ends the sequence.
func retry[T any](l *pass, kind Kind, where string, read func(last *T) iter.Seq2[T, error], size func(*T) int) iter.Seq[T] {
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

// giveUp adds a finding for rows that cannot be read. After maxFailed failed reads in a row
// it aborts the check.
func (l *pass) giveUp(kind Kind, where string, err error) {
	l.found(kind, where, "the rows from here on cannot be read: %v", err)
	if l.checker.failed.Add(1) >= maxFailed {
		l.abort(fmt.Errorf("%w: %w", ErrStoreGone, err))
	}
}

// blocks yields all blocks in a bucket.
func (l *pass) blocks(b store.Bucket) iter.Seq[store.Block] {
	read := func(last *store.Block) iter.Seq2[store.Block, error] {
		from := int64(minTime)
		if last != nil && last.Start > b.Start() { // otherwise carried-forward blocks may follow, which end earlier
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
	return retry(l, Unreadable, bucketName(b), read, func(b *store.Block) int { return len(b.Blob) })
}

// compare orders the blocks of a bucket as a store yields them.
func compare(a, b *store.BlockKey) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.Writer[:], b.Writer[:]), cmp.Compare(a.N, b.N))
}

// rows yields the rows of a writer after a position, at least through another one.
func (l *pass) rows(shard int, w store.WriterID, after, through store.Position) iter.Seq[store.JournalRow] {
	read := func(last *store.JournalRow) iter.Seq2[store.JournalRow, error] {
		if last != nil {
			after = last.At
		}
		return l.store.Journal(l.ctx, shard, w, after, through)
	}
	return retry(l, Unreadable, fmt.Sprintf("journal of writer %v in shard %d", w, shard), read,
		func(r *store.JournalRow) int { return len(r.Index) + len(r.Blob) })
}

// readWhole yields a short sequence. After an error it reads the whole sequence again and
// skips the rows that it has yielded.
func readWhole[T any](l *pass, where string, read func() iter.Seq2[T, error]) iter.Seq[T] {
	n := 0
	return retry(l, Unreadable, where, func(*T) iter.Seq2[T, error] {
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

// pace limits the rate of reading.
type pace struct {
	mu   sync.Mutex
	next time.Time // the time at which the rate allows the next read
}

// spend counts bytes that were read, and waits as the rate requires.
func (l *pass) spend(n int) {
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
	const minSleep = 50 * time.Millisecond // shorter waits add up to one sleep
	if wait > minSleep {
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
