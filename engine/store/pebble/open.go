package pebble

import (
	"encoding/binary"
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

// Version is the version of keys and values that this package writes. It reads
// version 1 as well, whose metadata has no properties, version 2, which has no
// rollups and no tiers but forever, version 3, whose blocks do not say when they were
// written, and version 4, whose claims have no terms of sealers, and makes them version 5:
// a program that knows only the earlier one refuses it then. Others are refused.
const Version = 5

// ErrInUse is returned by Open for a directory that another store has open.
var ErrInUse = errors.New("the directory is in use by another store")

// Options configure a store. The zero value does.
type Options struct {
	// Registerer gets the metrics; nil for none.
	Registerer prometheus.Registerer
	// Log gets what Pebble says; nil for nothing.
	Log *slog.Logger
}

// Store is a store.Store in a directory.
type Store struct {
	db      *pebble.DB
	lock    *pebble.Lock
	metrics *metrics

	claiming [64]sync.Mutex // by shard: makes comparing a claim and dropping it one step
	sealing  sync.Mutex     // makes reading a position and raising it one step
	rolling  sync.Mutex     // makes reading a rollup's stamp and writing a later one one step

	dropping sync.RWMutex // held, for reading, by who writes blocks
}

var _ store.Store = (*Store)(nil)

// Open opens the archive in a directory, which is made if it does not exist. The
// directory is the store's until Close; another Open of it fails with ErrInUse.
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
	db, err := pebble.Open(dir, dbOptions(lock, opts.Log))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := checkVersion(db); err != nil {
		return nil, errors.Join(err, db.Close(), lock.Close())
	}
	return &Store{db: db, lock: lock, metrics: newMetrics(opts.Registerer, db)}, nil
}

// lockDirectory takes the lock of a directory. Systems differ in how they say
// that it is held; they do not say so of a directory that can not be written.
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
		// Fixed, so that a newer Pebble does not change files without notice.
		FormatMajorVersion: pebble.FormatTableFormatV6,
		Logger:             logger{log},
		// Room for journal rows, most of which are sealed, and deleted, before they
		// would reach a sorted file. Pebble keeps some WALs of this size to use again.
		MemTableSize: 16 << 20,
	}
}

// checkVersion refuses an archive of another version, and marks a new one.
func checkVersion(db *pebble.DB) error {
	key := []byte{tableSchema}
	v, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return markNew(db, key)
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if len(v) != 4 {
		return fmt.Errorf("reading its version: %w", errCorrupt)
	}
	switch got := binary.BigEndian.Uint32(v); got {
	case Version:
		return nil
	case 1, 2, 3, 4:
		return db.Set(key, appendUint32(nil, Version), pebble.Sync)
	default:
		return fmt.Errorf("it has format version %d, and this program reads and writes version %d", got, Version)
	}
}

func markNew(db *pebble.DB, key []byte) error {
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	foreign := it.First()
	if err := it.Close(); err != nil {
		return err
	}
	if foreign {
		return errors.New("it holds a Pebble store that is not an archive of Varve")
	}
	return db.Set(key, appendUint32(nil, Version), pebble.Sync)
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.metrics.close()
	if err := errors.Join(s.db.Close(), s.lock.Close()); err != nil {
		return fmt.Errorf("closing the archive: %w", err)
	}
	return nil
}
