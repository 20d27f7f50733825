package spool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/store"
)

const (
	// partBytes ends a partition of the journal, as in a shard journal.
	partBytes = 32 << 20
	// gatherBytes is the size of puts that are written without further waiting.
	gatherBytes = 8 << 20
	// cooldown is the time after a failure of the disk in which it is not used.
	cooldown    = 10 * time.Second
	bufferBytes = 256 << 10
)

// errCooldown is returned during the cooldown.
var errCooldown = errors.New("the spool's disk failed; it is retried in a few seconds")

// put is a call of Put: its rows, which Run writes to the disk.
type put struct {
	rows []journal.SpoolRow
	done chan error // has a capacity of 1
}

func (p *put) size() (n int) {
	for i := range p.rows {
		n += rowSize(&p.rows[i])
	}
	return n
}

func rowSize(r *journal.SpoolRow) int { return recordSize + len(r.Index) + len(r.Blob) }

// Put implements journal.Spool. It returns when the rows are durable.
func (s *Spool) Put(rows []journal.SpoolRow) error {
	p := &put{rows: rows, done: make(chan error, 1)}
	select {
	case s.puts <- p:
		return <-p.done
	case <-s.ended:
		return ErrClosed
	}
}

// Run writes the rows of all puts until ctx ends. Rows that several shard journals put between
// two fsyncs share the next one.
func (s *Spool) Run(ctx context.Context) {
	defer close(s.ended)
	defer s.leaveSegment()
	var next time.Time // when the disk may be synchronized again
	for {
		var puts []*put
		select {
		case <-ctx.Done():
			return
		case done := <-s.endRequests:
			s.leaveSegment()
			close(done)
			continue
		case p := <-s.puts:
			puts = s.gather(ctx, p, time.Until(next))
		}
		s.write(puts)
		next = time.Now().Add(s.cfg.Sync)
	}
}

// gather returns the first put and the puts that arrive within a time, up to a total size.
func (s *Spool) gather(ctx context.Context, first *put, within time.Duration) []*put {
	puts, size := []*put{first}, first.size()
	turn := time.NewTimer(within)
	defer turn.Stop()
	for size < gatherBytes {
		select {
		case p := <-s.puts:
			puts = append(puts, p)
			size += p.size()
		case <-turn.C:
			return puts
		case <-ctx.Done():
			return puts
		}
	}
	return puts
}

// write makes the rows of puts durable and sends the result to each put.
func (s *Spool) write(puts []*put) {
	err := errCooldown
	if !time.Now().Before(s.retryAt) {
		err = s.append(puts)
		s.noteResult(err)
	}
	for _, p := range puts {
		p.done <- err
	}
}

// noteResult records and logs the result of the latest write.
func (s *Spool) noteResult(err error) {
	s.mu.Lock()
	was := s.failure
	s.failure = err
	s.mu.Unlock()
	switch {
	case err != nil:
		s.retryAt = time.Now().Add(cooldown)
		s.metrics.Failures.Inc()
		s.cfg.Log.Error("the spool cannot be written; samples wait in memory", "dir", s.cfg.Dir, "err", err)
	case was != nil:
		s.cfg.Log.Info("the spool can be written again", "dir", s.cfg.Dir)
	}
}

// append writes the rows of puts and synchronizes the file. After an error the segment takes
// no more rows, because it is unknown which unsynchronized bytes are on the disk.
func (s *Spool) append(puts []*put) error {
	for _, p := range puts {
		for i := range p.rows {
			if err := s.appendRow(&p.rows[i]); err != nil {
				s.leaveSegment()
				return err
			}
		}
	}
	if err := s.sync(); err != nil {
		s.leaveSegment()
		return fmt.Errorf("synchronizing the spool: %w", err)
	}
	return nil
}

// file is the current segment as Run writes it.
type file struct {
	*segment
	vfs.File
	out    *bufio.Writer
	offset int64            // of the next record
	ends   map[int]*end     // of the chains, including rows that are not durable yet
	fresh  []placed         // written since the last fsync
	head   [recordSize]byte // scratch
}

// end is the end of a chain.
type end struct {
	at    store.Position
	last  int64
	bytes int // in the current partition
}

func (s *Spool) appendRow(row *journal.SpoolRow) error {
	if len(row.Index)+len(row.Blob) > maxBody || row.Shard >= maxShards {
		panic(fmt.Sprintf("BUG: spooling a row of %d bytes of shard %d", len(row.Index)+len(row.Blob), row.Shard))
	}
	size := int64(rowSize(row))
	if s.file != nil && s.file.offset+size > s.segmentBytes && s.file.offset > s.segmentBytes/2 {
		if err := s.sync(); err != nil {
			return fmt.Errorf("synchronizing the spool: %w", err)
		}
		s.leaveSegment()
	}
	if err := s.makeRoom(size); err != nil {
		return err
	}
	if s.file == nil {
		if err := s.newSegment(); err != nil {
			return fmt.Errorf("creating a spool file: %w", err)
		}
	}
	return s.file.append(row)
}

// newSegment creates a segment.
func (s *Spool) newSegment() error {
	h := header{writer: store.NewWriter(), created: s.cfg.Now().Begin, archive: s.cfg.Archive}
	s.mu.Lock()
	g := &segment{header: h, n: s.next, path: s.fs.PathJoin(s.cfg.Dir, fileName(s.next)), ours: true, chains: map[int]*chain{}}
	s.next++
	s.mu.Unlock()
	out, err := s.fs.Create(g.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	f := &file{segment: g, File: out, out: bufio.NewWriterSize(out, bufferBytes), ends: map[int]*end{}}
	head := appendHeader(nil, &h)
	f.offset = int64(len(head))
	s.file = f
	if _, err := f.out.Write(head); err != nil {
		return err
	}
	return syncDir(s.fs, s.cfg.Dir)
}

// append writes a row. The row is not durable yet.
func (f *file) append(row *journal.SpoolRow) error {
	e := f.ends[row.Shard]
	switch {
	case e == nil:
		e = &end{at: store.At(1, 1)}
		f.ends[row.Shard] = e
	case e.bytes > partBytes:
		e.at, e.bytes = store.At(e.at.N()+1, 1), 0
	default:
		e.at++
	}
	r := placed{offset: f.offset, record: record{
		at: e.at, prev: e.last, shard: row.Shard, samples: row.Samples, index: len(row.Index), body: len(row.Index) + len(row.Blob),
		sum: crc32.Update(crc32.Checksum(row.Index, castagnoli), castagnoli, row.Blob),
	}}
	for _, part := range [][]byte{appendRecord(f.head[:0], &r.record), row.Index, row.Blob} {
		if _, err := f.out.Write(part); err != nil {
			return fmt.Errorf("writing the spool: %w", err)
		}
	}
	f.fresh = append(f.fresh, r)
	e.last, e.bytes = r.offset, e.bytes+r.body
	f.offset = r.next()
	return nil
}

// sync makes the written rows durable and shows them to readers.
func (s *Spool) sync() error {
	f := s.file
	if f == nil || len(f.fresh) == 0 {
		return nil
	}
	if err := f.flushAndSync(); err != nil {
		return err
	}
	s.metrics.Syncs.Inc()
	s.metrics.put(f.fresh)
	s.mu.Lock()
	for i := range f.fresh {
		f.segment.add(&f.fresh[i])
	}
	f.fresh = f.fresh[:0]
	if s.current != f.segment {
		s.current = f.segment
		s.segments = append(s.segments, f.segment)
	}
	s.mu.Unlock()
	s.wakeDrain()
	return nil
}

func (f *file) flushAndSync() error {
	if err := f.out.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// wakeDrain wakes Drain.
func (s *Spool) wakeDrain() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// leaveSegment ends the current segment. Rows that are not durable are not part of it.
func (s *Spool) leaveSegment() {
	f := s.file
	if f == nil {
		return
	}
	s.file = nil
	_ = f.Close() // the durable rows are already synchronized
	s.mu.Lock()
	known := s.current == f.segment
	s.current = nil
	s.mu.Unlock()
	if !known {
		s.removeSegment(f.segment)
	}
}
