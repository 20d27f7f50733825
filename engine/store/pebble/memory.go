package pebble

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/store"
)

// OpenMemory opens an empty archive in memory. Close discards the archive. OpenMemory is for
// tests: the store never waits for a clock, so it works in a synctest bubble.
func OpenMemory() (*Store, error) { return openMemory(vfs.NewMem()) }

// OpenMemoryOldest is OpenMemory for an archive of the oldest format level at which this program runs.
func OpenMemoryOldest() (*Store, error) {
	st, err := OpenMemory()
	if err != nil {
		return nil, err
	}
	if err := setFormatLevel(st.db, store.OldestFormat); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// openMemory opens the archive in a file system in memory.
func openMemory(fs vfs.FS) (*Store, error) {
	lock, err := pebble.LockDirectory("", fs)
	if err != nil {
		return nil, fmt.Errorf("opening an archive in memory: %w", err)
	}
	opts := dbOptions(lock, slog.New(slog.DiscardHandler))
	opts.FS = fs
	opts.MemTableSize = 128 << 10 // a memtable keeps each version of a row, and claims change each second
	opts.CacheSize = 1 << 20      // the files are in memory already
	// The default scheduler polls ten times per second. In a synctest bubble, where time
	// passes at once, the polls would never end.
	opts.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	db, err := openDB("", opts)
	if err != nil {
		return nil, fmt.Errorf("opening an archive in memory: %w", errors.Join(err, lock.Close()))
	}
	formats := store.Formats{}.OrDefault()
	if err := checkFormat(db, formats); err != nil {
		return nil, fmt.Errorf("opening an archive in memory: %w", errors.Join(err, db.Close(), lock.Close()))
	}
	usage := func() (vfs.DiskUsage, error) { return fs.GetDiskUsage("") }
	return &Store{db: db, lock: lock, metrics: newMetrics(nil, db), formats: formats, usage: usage}, nil
}
