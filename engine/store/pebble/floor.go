package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// PutFloor implements store.Store.
func (s *Store) PutFloor(ctx context.Context, f store.Floor) error {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	was, found, err := s.Floor(ctx)
	if err != nil {
		return err
	}
	if found {
		f.Before = max(f.Before, was.Before)
	}
	return s.commit(ctx, "floor", func(b *pebble.Batch) error {
		return b.Set([]byte{tableFloor}, appendFloor(nil, &f), nil)
	})
}

// Floor implements store.Store.
func (s *Store) Floor(ctx context.Context) (f store.Floor, found bool, err error) {
	if err := ctx.Err(); err != nil {
		return f, false, err
	}
	v, closer, err := s.db.Get([]byte{tableFloor})
	if errors.Is(err, pebble.ErrNotFound) {
		return f, false, nil
	}
	if err == nil {
		defer closer.Close()
		err = decodeFloor(&f, v)
	}
	if err != nil {
		return store.Floor{}, false, fmt.Errorf("reading the floor: %w", err)
	}
	return f, true, nil
}

// PutSweep implements store.Store.
func (s *Store) PutSweep(ctx context.Context, sw store.Sweep) error {
	return s.commit(ctx, "sweep", func(b *pebble.Batch) error {
		return b.Set(shardKey(tableSweep, sw.Shard), appendSweep(nil, &sw), nil)
	})
}

// Sweeps implements store.Store.
func (s *Store) Sweeps(ctx context.Context) (sweeps []store.Sweep, err error) {
	lower := []byte{tableSweep}
	for sw, err := range decoded(scan(ctx, s.db, lower, after(lower)), "sweeps", func(e entry) (sw store.Sweep, err error) {
		if len(e.key) != 5 {
			return sw, errCorrupt
		}
		sw.Shard = int(binary.BigEndian.Uint32(e.key[1:]))
		return sw, decodeSweep(&sw, e.value)
	}) {
		if err != nil {
			return nil, err
		}
		sweeps = append(sweeps, sw)
	}
	return sweeps, nil
}

// Limit implements store.Store: nothing sets one but who runs the archive.
func (s *Store) Limit(context.Context) (int64, error) { return 0, nil }

func appendFloor(v []byte, f *store.Floor) []byte {
	open := byte(0)
	if f.Open {
		open = 1
	}
	v = append(append(v, f.By[:]...), open)
	for _, n := range []int64{f.Before, f.At, f.Size, f.Limit, f.Settled, f.Peak} {
		v = appendUint64(v, uint64(n))
	}
	return v
}

func decodeFloor(f *store.Floor, v []byte) error {
	r := reader{rest: v}
	copy(f.By[:], r.bytes(uint64(len(f.By))))
	f.Open = r.uint8() != 0
	for _, n := range []*int64{&f.Before, &f.At, &f.Size, &f.Limit, &f.Settled, &f.Peak} {
		*n = int64(r.uint64())
	}
	return r.end()
}

func appendSweep(v []byte, s *store.Sweep) []byte {
	return appendUint64(appendUint64(appendUint64(v, uint64(s.Floor)), uint64(s.Buckets)), uint64(s.Bytes))
}

func decodeSweep(s *store.Sweep, v []byte) error {
	r := reader{rest: v}
	s.Floor, s.Buckets, s.Bytes = int64(r.uint64()), int64(r.uint64()), int64(r.uint64())
	return r.end()
}
