package pebble

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// Delete implements store.Store. All goes at once.
func (s *Store) Delete(ctx context.Context, pv string) error {
	return s.commit(ctx, "deletion", func(b *pebble.Batch) error {
		var errs []error
		for _, table := range []byte{tableHeader, tableBlob, tableMark, tableMetadata, tableChannel} {
			prefix := pvKey(table, pv)
			errs = append(errs, b.DeleteRange(prefix, after(prefix), nil))
		}
		return errors.Join(errs...)
	})
}
