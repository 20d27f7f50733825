package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// checkFormat refuses an archive of an unknown format level, upgrades one from before the first release,
// and writes the level of a new one.
func checkFormat(db *pebble.DB, formats store.Formats) error {
	level, err := formatLevel(db)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return markNew(db, formats.Latest)
	case err != nil:
		return err
	case 0 < level && level < firstRelease && firstRelease >= formats.Oldest:
		return setFormatLevel(db, firstRelease)
	}
	return formats.Check(level)
}

// formatLevel returns the format level of an archive, or an error that wraps pebble.ErrNotFound.
func formatLevel(db *pebble.DB) (store.FormatLevel, error) {
	v, closer, err := db.Get([]byte{tableSchema})
	if err != nil {
		return 0, fmt.Errorf("reading the format level of the archive: %w", err)
	}
	defer closer.Close()
	if len(v) != 4 {
		return 0, fmt.Errorf("reading the format level of the archive: %w", errCorrupt)
	}
	return store.FormatLevel(binary.BigEndian.Uint32(v)), nil
}

func setFormatLevel(db *pebble.DB, level store.FormatLevel) error {
	if err := db.Set([]byte{tableSchema}, appendUint32(nil, uint32(level)), pebble.Sync); err != nil {
		return fmt.Errorf("writing the format level of the archive: %w", err)
	}
	return nil
}

func markNew(db *pebble.DB, level store.FormatLevel) error {
	it, err := db.NewIter(nil)
	if err != nil {
		return err
	}
	foreign := it.First()
	if err := it.Close(); err != nil {
		return err
	}
	if foreign {
		return errors.New("the directory holds a Pebble store that is not an archive of Varve")
	}
	return setFormatLevel(db, level)
}

// FormatLevel implements store.Store.
func (s *Store) FormatLevel(context.Context) (store.FormatLevel, error) { return formatLevel(s.db) }

// Finalize implements store.Store.
func (s *Store) Finalize(context.Context) (store.FormatLevel, error) {
	level, err := formatLevel(s.db)
	if err == nil && level < s.formats.Latest {
		level, err = s.formats.Latest, setFormatLevel(s.db, s.formats.Latest)
	}
	return level, err
}
