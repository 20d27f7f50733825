package spool

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/store"
)

// Errors of Open and Put.
var (
	// ErrOtherArchive: a file has samples of another archive.
	ErrOtherArchive = errors.New("the spool is another archive's")
	// ErrClosed: Run has ended.
	ErrClosed = errors.New("the spool is closed")
)

// MinSize is the least size of a spool, in bytes: some of the largest rows.
const MinSize = 64 << 20

// segmentsWhenFull is how many segments make a full spool, but for smaller ones. The
// oldest is dropped as a whole.
const (
	segmentsWhenFull = 128
	minSegment       = 1 << 20
)

// Config of a Spool.
type Config struct {
	// Dir is the spool's alone, and this process's.
	Dir string
	// Archive names the archive whose samples these are, for as long as it exists.
	Archive string
	// Size bounds the files, in bytes; at least MinSize.
	Size int64
	// Sync is the least time between two synchronizations of a file.
	Sync time.Duration
	// FS is the file system; nil: that of the operating system.
	FS         vfs.FS
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Spool keeps rows on disk. Run is its goroutine that writes, Drain the one that
// sends them to the store.
type Spool struct {
	cfg Config
	fs  vfs.FS
	// segmentBytes is how large a segment becomes.
	segmentBytes int64
	lock         io.Closer
	metrics      *Metrics

	puts  chan *put          // taken by Run
	rolls chan chan struct{} // taken by Run: it closes them when the present segment has ended
	ended chan struct{}      // closed by Run at its end
	wake  chan struct{}      // that there are rows to send; its capacity is 1

	mu       sync.Mutex
	segments []*segment // oldest first
	current  *segment   // of segments: that which Run adds to; nil: none
	next     uint64     // number of the next segment
	failure  error      // why the latest write failed
	counts   Counts
	lost     map[string]*loss // dropped, and not marked yet

	file *file     // of the current segment; Run's
	idle time.Time // until when the disk is left alone, after it failed; Run's
}

// Counts are of samples that this process put, but for Waiting.
type Counts struct {
	// Sent samples were acknowledged by the store, Dropped ones never will be, and
	// Kept ones wait.
	Sent, Dropped, Kept uint64
	// Waiting samples are in the spool, also those of processes before.
	Waiting int
}

// Open takes a directory, which it makes if need be, and finds what processes before
// have left there.
func Open(cfg Config) (*Spool, error) {
	if cfg.FS == nil {
		cfg.FS = vfs.Default
	}
	if len(cfg.Archive) > maxArchive {
		return nil, fmt.Errorf("the name of the archive has %d bytes, more than %d", len(cfg.Archive), maxArchive)
	}
	if err := makeDir(cfg.FS, cfg.Dir); err != nil {
		return nil, fmt.Errorf("making the spool: %w", err)
	}
	lock, err := cfg.FS.Lock(cfg.FS.PathJoin(cfg.Dir, "LOCK"))
	if err != nil {
		return nil, fmt.Errorf("locking the spool %s, which another process may use: %w", cfg.Dir, err)
	}
	s := &Spool{
		cfg: cfg, fs: cfg.FS, segmentBytes: max(cfg.Size/segmentsWhenFull, minSegment), lock: lock, next: 1,
		puts: make(chan *put), rolls: make(chan chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
		lost: map[string]*loss{},
	}
	s.metrics = newMetrics(cfg.Registerer, s)
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the spool: %w", err), lock.Close())
	}
	if n := s.Counts().Waiting; n > 0 {
		cfg.Log.Info("samples of a process before wait in the spool", "samples", n, "dir", cfg.Dir)
	}
	return s, nil
}

// makeDir makes a directory, and its name durable.
func makeDir(fs vfs.FS, dir string) error {
	if info, err := fs.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncDir(fs, fs.PathDir(dir))
}

// syncDir makes the names in a directory durable.
func syncDir(fs vfs.FS, name string) error {
	dir, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Close gives the directory up. Run and Drain must have ended.
func (s *Spool) Close() error { return s.lock.Close() }

// Counts tells what became of samples.
func (s *Spool) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	for _, g := range s.segments {
		_, n := g.waiting()
		c.Waiting += n
		if g.ours {
			c.Kept += uint64(n)
		}
	}
	return c
}

// Waiting counts the samples of a shard that wait.
func (s *Spool) Waiting(shard int) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.segments {
		if c := g.chains[shard]; c != nil {
			n += c.samples
		}
	}
	return n
}

// Waits reports whether samples of a shard wait to be sent.
func (s *Spool) Waits(shard int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.segments, func(g *segment) bool {
		c := g.chains[shard]
		return c != nil && c.samples > 0
	})
}

// Shards returns the shards of which samples wait, some several times.
func (s *Spool) Shards() (shards []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.segments {
		for shard, c := range g.chains {
			if c.samples > 0 {
				shards = append(shards, shard)
			}
		}
	}
	return shards
}

// OldestAge returns how long ago the oldest file was begun of which rows wait; 0: none does.
func (s *Spool) OldestAge() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oldestAge()
}

// Owns reports whether a writer is that of a segment: it lives as long as that.
func (s *Spool) Owns(w store.WriterID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.segments, func(g *segment) bool { return g.writer == w })
}

// Failure says why the latest write to the disk failed; nil: it did not.
func (s *Spool) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// bytes counts what the files take. It needs the lock.
func (s *Spool) bytes() (n int64) {
	for _, g := range s.segments {
		n += g.size
	}
	return n
}

// remove forgets a segment and deletes its file.
func (s *Spool) remove(g *segment) {
	s.mu.Lock()
	s.segments = slices.DeleteFunc(s.segments, func(o *segment) bool { return o == g })
	s.mu.Unlock()
	if err := s.fs.Remove(g.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.metrics.Failures.Inc()
		s.cfg.Log.Error("deleting a spool file", "file", g.path, "err", err)
	}
}

var _ journal.Spool = (*Spool)(nil)
