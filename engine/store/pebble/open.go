package pebble

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/store"
)

// firstRelease is the format level that release 0.1.0 wrote. Open upgrades archives of lower levels, which
// no release wrote. In level 1, metadata has no properties. In level 2, there are no rollups, and the only
// tier is forever. In level 3, blocks have no write time. In level 4, claims have no terms.
const firstRelease store.FormatLevel = 5

// ErrInUse is returned by Open for a directory that another store has open.
var ErrInUse = errors.New("the directory is in use by another store")

// Options configure a store. The zero value is usable.
type Options struct {
	// Registerer gets the metrics. It may be nil, for no metrics.
	Registerer prometheus.Registerer
	// Log gets Pebble's messages. It may be nil, for no messages.
	Log *slog.Logger
	// Formats are the format levels at which the archive may be opened. The default is those of
	// this program.
	Formats store.Formats
}

// Store is a store.Store in a directory.
type Store struct {
	db      *pebble.DB
	dir     string
	lock    *pebble.Lock
	metrics *metrics
	formats store.Formats
	usage   func() (vfs.DiskUsage, error) // of the file system of the archive

	claiming [64]sync.Mutex // by shard: held while a claim is compared and dropped
	sealing  sync.Mutex     // held while a position is read and raised
	rolling  sync.Mutex     // held while a rollup's stamp is read and a later rollup is written

	dropping sync.RWMutex // held for reading while blocks are written

	reporting sync.RWMutex                    // guards changed
	changed   []func(pv string, deleted bool) // what ReportDirectory was given
}

var (
	_ store.Store             = (*Store)(nil)
	_ store.NameLister        = (*Store)(nil)
	_ store.DirectoryReporter = (*Store)(nil)
)

// Open opens the archive in a directory and creates the directory if it does not exist. The
// store locks the directory until Close. Meanwhile, another Open fails with ErrInUse.
func Open(dir string, opts Options) (*Store, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s, err := open(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the archive in %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string, opts Options) (*Store, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, err
	}
	db, err := openDB(dir, dbOptions(lock, opts.Log))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	formats := opts.Formats.OrDefault()
	if err := checkFormat(db, formats); err != nil {
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
	usage := func() (vfs.DiskUsage, error) { return vfs.Default.GetDiskUsage(dir) }
	return &Store{db: db, dir: dir, lock: lock, metrics: newMetrics(opts.Registerer, db), formats: formats, usage: usage}, nil
}

// lockDirectory locks a directory. Operating systems report in different ways that another
// process holds the lock. If locking fails although the directory can be written,
// lockDirectory assumes that another process holds the lock.
func lockDirectory(dir string) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil && canWrite(dir) {
		return nil, fmt.Errorf("%w: %w", ErrInUse, err)
	}
	return lock, err
}

func canWrite(dir string) bool {
	f, err := os.CreateTemp(dir, "probe-")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

func dbOptions(lock *pebble.Lock, log *slog.Logger) *pebble.Options {
	return &pebble.Options{
		Lock: lock,
		// The version is fixed, so that a newer Pebble does not change files without notice.
		FormatMajorVersion: pebble.FormatTableFormatV6,
		Logger:             logger{log},
		EventListener:      &pebble.EventListener{DataCorruption: logger{log}.damaged},
		// The memtable has room for journal rows: most of them are sealed and deleted before
		// they would be written to a sorted file. Pebble keeps some WALs of this size for
		// reuse.
		MemTableSize: 16 << 20,
		// The cache holds what requests of many PVs read again and again: the directory, the indexes
		// of the files, and the newest blocks.
		CacheSize: 64 << 20,
	}
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.metrics.close()
	if err := errors.Join(s.db.Close(), s.lock.Close()); err != nil {
		return fmt.Errorf("closing the archive: %w", err)
	}
	return nil
}
