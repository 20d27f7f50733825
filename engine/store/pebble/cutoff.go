package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// PutCutoff implements store.Store.
func (s *Store) PutCutoff(ctx context.Context, f store.Cutoff) error {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	was, found, err := s.Cutoff(ctx)
	if err != nil {
		return err
	}
	if found {
		f.Before = max(f.Before, was.Before)
	}
	return s.commit(ctx, "cutoff", func(b *pebble.Batch) error {
		return b.Set([]byte{tableCutoff}, appendCutoff(nil, &f), nil)
	})
}

// Cutoff implements store.Store.
func (s *Store) Cutoff(ctx context.Context) (f store.Cutoff, found bool, err error) {
	if err := ctx.Err(); err != nil {
		return f, false, err
	}
	v, closer, err := s.db.Get([]byte{tableCutoff})
	if errors.Is(err, pebble.ErrNotFound) {
		return f, false, nil
	}
	if err == nil {
		defer closer.Close()
		err = decodeCutoff(&f, v)
	}
	if err != nil {
		return store.Cutoff{}, false, fmt.Errorf("reading the cutoff: %w", err)
	}
	return f, true, nil
}

// PutCutoffProgress implements store.Store.
func (s *Store) PutCutoffProgress(ctx context.Context, sp store.CutoffProgress) error {
	return s.commit(ctx, "cutoff_progress", func(b *pebble.Batch) error {
		return b.Set(shardKey(tableCutoffProgress, sp.Shard), appendCutoffProgress(nil, &sp), nil)
	})
}

// CutoffProgress implements store.Store.
func (s *Store) CutoffProgress(ctx context.Context) (shardProgress []store.CutoffProgress, err error) {
	lower := []byte{tableCutoffProgress}
	for sp, err := range decoded(scan(ctx, s.db, lower, after(lower)), "the progress of the shards", func(e entry) (sp store.CutoffProgress, err error) {
		if len(e.key) != 5 {
			return sp, errCorrupt
		}
		sp.Shard = int(binary.BigEndian.Uint32(e.key[1:]))
		return sp, decodeCutoffProgress(&sp, e.value)
	}) {
		if err != nil {
			return nil, err
		}
		shardProgress = append(shardProgress, sp)
	}
	return shardProgress, nil
}

// Limit implements store.Store. It returns 0, because there is no server that sets a limit.
func (s *Store) Limit(context.Context) (int64, error) { return 0, nil }

func appendCutoff(v []byte, f *store.Cutoff) []byte {
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

func decodeCutoff(f *store.Cutoff, v []byte) error {
	r := reader{rest: v}
	copy(f.By[:], r.bytes(uint64(len(f.By))))
	f.Open = r.uint8() != 0
	for _, n := range []*int64{&f.Before, &f.At, &f.Size, &f.Limit, &f.Settled, &f.Peak} {
		*n = int64(r.uint64())
	}
	return r.end()
}

func appendCutoffProgress(v []byte, s *store.CutoffProgress) []byte {
	return appendUint64(appendUint64(appendUint64(v, uint64(s.Cutoff)), uint64(s.Buckets)), uint64(s.Bytes))
}

func decodeCutoffProgress(s *store.CutoffProgress, v []byte) error {
	r := reader{rest: v}
	s.Cutoff, s.Buckets, s.Bytes = int64(r.uint64()), int64(r.uint64()), int64(r.uint64())
	return r.end()
}
