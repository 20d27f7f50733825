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

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/store"
)

// Errors of Open and Put.
var (
	// ErrOtherArchive is returned when a file has samples of another archive.
	ErrOtherArchive = errors.New("the spool belongs to another archive")
	// ErrClosed is returned after Run has ended.
	ErrClosed = errors.New("the spool is closed")
)

// MinSize is the smallest size of a spool in bytes: room for a few of the largest rows.
const MinSize = 64 << 20

// segmentsWhenFull is the number of segments of a full spool, unless they would be smaller
// than minSegment. The oldest segment is dropped as a whole.
const (
	segmentsWhenFull = 128
	minSegment       = 1 << 20
)

// Config configures a Spool.
type Config struct {
	// Dir is the directory of the files. No other process may use it.
	Dir string
	// Archive is the name of the archive whose samples the spool holds. It must never
	// change.
	Archive string
	// Size is the maximum size of all files in bytes. It is at least MinSize.
	Size int64
	// Sync is the shortest time between two fsyncs of a file.
	Sync time.Duration
	// FS is the file system; nil means the operating system's.
	FS vfs.FS
	// Now returns the present instant, as in journal.Config. If it is nil, the clock is right.
	Now        func() clock.Instant
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Spool keeps rows on disk. Run is the only goroutine that writes files. Drain sends the
// rows to the store.
type Spool struct {
	cfg    Config
	fs     vfs.FS
	opened time.Time
	// segmentBytes is the size at which a segment ends.
	segmentBytes int64
	lock         io.Closer
	metrics      *Metrics

	puts        chan *put          // received by Run
	endRequests chan chan struct{} // received by Run, which ends the current segment and closes the element
	ended       chan struct{}      // closed by Run at its end
	wake        chan struct{}      // signals that there are rows to send; its capacity is 1

	mu       sync.Mutex
	segments []*segment // oldest first
	current  *segment   // the element of segments that Run adds to, or nil
	next     uint64     // number of the next segment
	failure  error      // why the latest write failed, or nil
	counts   Counts
	lost     map[string]*loss // dropped samples that have no mark yet, by PV

	file    *file     // of the current segment; belongs to Run
	retryAt time.Time // when the disk may be used again after a failure; belongs to Run
}

// Counts counts samples. All fields but Waiting count only samples that this process put.
type Counts struct {
	// Sent counts samples that the store has acknowledged, Dropped counts samples that are
	// lost, and Kept counts samples that wait.
	Sent, Dropped, Kept uint64
	// Waiting counts the samples that wait in the spool, including samples of earlier
	// processes.
	Waiting int
}

// Open creates the directory if necessary, locks it, and finds the rows that earlier
// processes left there.
func Open(cfg Config) (*Spool, error) {
	if cfg.FS == nil {
		cfg.FS = vfs.Default
	}
	if cfg.Now == nil {
		cfg.Now = func() clock.Instant { return clock.At(time.Now().UnixNano()) }
	}
	if len(cfg.Archive) > maxArchive {
		return nil, fmt.Errorf("the name of the archive has %d bytes; at most %d are allowed", len(cfg.Archive), maxArchive)
	}
	if err := makeDir(cfg.FS, cfg.Dir); err != nil {
		return nil, fmt.Errorf("creating the spool: %w", err)
	}
	lock, err := cfg.FS.Lock(cfg.FS.PathJoin(cfg.Dir, "LOCK"))
	if err != nil {
		return nil, fmt.Errorf("locking the spool %s, which another process may use: %w", cfg.Dir, err)
	}
	s := &Spool{
		cfg: cfg, fs: cfg.FS, opened: time.Now(), segmentBytes: max(cfg.Size/segmentsWhenFull, minSegment), lock: lock, next: 1,
		puts: make(chan *put), endRequests: make(chan chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1),
		lost: map[string]*loss{},
	}
	s.metrics = newMetrics(cfg.Registerer, s)
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the spool: %w", err), lock.Close())
	}
	if n := s.Counts().Waiting; n > 0 {
		cfg.Log.Info("samples of an earlier process wait in the spool", "samples", n, "dir", cfg.Dir)
	}
	return s, nil
}

// makeDir creates a directory and makes its name durable.
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

// Close releases the directory. Run and Drain must have ended.
func (s *Spool) Close() error { return s.lock.Close() }

// Counts returns how many samples were sent, dropped and kept.
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

// Waiting counts the samples of a shard that wait to be sent.
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

// Shards returns the shards with waiting samples; some shards may appear several times.
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

// OldestAge returns the age of the oldest file with waiting rows, or 0.
func (s *Spool) OldestAge() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oldestAgeLocked()
}

// Owns reports whether a writer ID belongs to a segment. A segment's writer lives as long as
// the segment.
func (s *Spool) Owns(w store.WriterID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.segments, func(g *segment) bool { return g.writer == w })
}

// Writers returns the writers of all segments.
func (s *Spool) Writers() (writers []store.WriterID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.segments {
		writers = append(writers, g.writer)
	}
	return writers
}

// Failure returns why the latest write to the disk failed, or nil if it succeeded.
func (s *Spool) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// bytesLocked returns the durable bytes of all files.
func (s *Spool) bytesLocked() (n int64) {
	for _, g := range s.segments {
		n += g.size
	}
	return n
}

// removeSegment removes a segment from the list and deletes its file.
func (s *Spool) removeSegment(g *segment) {
	s.mu.Lock()
	s.segments = slices.DeleteFunc(s.segments, func(o *segment) bool { return o == g })
	s.mu.Unlock()
	if err := s.fs.Remove(g.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.metrics.Failures.Inc()
		s.cfg.Log.Error("a spool file cannot be deleted", "file", g.path, "err", err)
	}
}

var _ journal.Spool = (*Spool)(nil)
