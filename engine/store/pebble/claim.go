package pebble

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// PutClaim implements store.Store.
func (s *Store) PutClaim(ctx context.Context, c store.Claim) error {
	turn := &s.claiming[c.Shard%len(s.claiming)]
	turn.Lock()
	defer turn.Unlock()
	return s.commit(ctx, "claim", func(b *pebble.Batch) error {
		return b.Set(writerKey(tableClaim, c.Shard, c.Writer), appendClaim(nil, &c), nil)
	})
}

// Seal implements store.Store. It deletes the rows up to the previous position. The rows
// up to the new position stay until the next Seal, for readers that have just read the
// previous position.
func (s *Store) Seal(ctx context.Context, shard int, w store.WriterID, to store.Position) error {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	key := writerKey(tableSealed, shard, w)
	was, err := s.sealed(key)
	if err != nil || to <= was {
		return err
	}
	return s.commit(ctx, "sealed", func(b *pebble.Batch) error {
		err := b.DeleteRange(journalKey(shard, w, 0), journalKey(shard, w, was+1), nil)
		return errors.Join(err, b.Set(key, appendUint64(nil, uint64(to)), nil))
	})
}

// sealed returns the position stored under a key, or 0 if there is none.
func (s *Store) sealed(key []byte) (store.Position, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading a sealed position: %w", err)
	}
	defer closer.Close()
	if len(v) != 8 {
		return 0, fmt.Errorf("reading a sealed position: %w", errCorrupt)
	}
	return store.Position(binary.BigEndian.Uint64(v)), nil
}

// Claims implements store.Store.
func (s *Store) Claims(ctx context.Context, shard int) ([]store.Claim, error) {
	prefix := shardKey(tableClaim, shard)
	var claims []store.Claim
	for c, err := range decoded(scan(ctx, s.db, prefix, after(prefix)), "claims", func(e entry) (store.Claim, error) {
		c := store.Claim{Shard: shard}
		copy(c.Writer[:], e.key[len(prefix):])
		return c, decodeClaim(&c, e.value)
	}) {
		if err != nil {
			return nil, err
		}
		if c.Sealed, err = s.sealed(writerKey(tableSealed, shard, c.Writer)); err != nil {
			return nil, err
		}
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b store.Claim) int {
		return cmp.Or(cmp.Compare(b.Epoch, a.Epoch), bytes.Compare(a.Writer[:], b.Writer[:]))
	})
	return claims, nil
}

// DropClaim implements store.Store.
func (s *Store) DropClaim(ctx context.Context, c store.Claim) error {
	turn := &s.claiming[c.Shard%len(s.claiming)]
	turn.Lock()
	defer turn.Unlock()
	key := writerKey(tableClaim, c.Shard, c.Writer)
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the claim of writer %v: %w", c.Writer, err)
	}
	same := bytes.Equal(v, appendClaim(nil, &c))
	if err := closer.Close(); err != nil || !same {
		return err
	}
	return s.commit(ctx, "claim", func(b *pebble.Batch) error {
		return errors.Join(
			b.Delete(key, nil),
			b.Delete(writerKey(tableSealed, c.Shard, c.Writer), nil),
			b.DeleteRange(journalKey(c.Shard, c.Writer, 0), journalKey(c.Shard, c.Writer, c.Sealed+1), nil),
		)
	})
}
