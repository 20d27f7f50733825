package cassandra

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"varve.dev/varve/engine/store"
)

// forgetSealed is how long the sealed position of a dropped writer is kept, in seconds. A
// writer that was only paused continues from there.
const forgetSealed = int(30 * 24 * time.Hour / time.Second)

// claimRows is the number of claims per page. A shard has few writers.
const claimRows = 1000

// PutClaim implements store.Store.
func (s *Store) PutClaim(ctx context.Context, c store.Claim) error {
	return s.write(ctx, write{
		operation: "claim",
		stmt:      "UPDATE claim SET epoch = ?, since = ?, alive = ?, closed = ?, last = ?, sealing = ?, saved = ? WHERE shard = ? AND writer = ?",
		values:    []any{int64(c.Epoch), c.Since, c.Alive, c.Closed, int64(c.Last), int64(c.Sealing), c.Saved, c.Shard, c.Writer[:]},
	})
}

// Seal implements store.Store. The position is its own timestamp, so that the highest position
// wins.
func (s *Store) Seal(ctx context.Context, shard int, w store.WriterID, to store.Position) error {
	if to == 0 {
		return nil
	}
	return s.write(ctx, write{
		operation: "sealed",
		stmt:      "UPDATE claim SET sealed = ? WHERE shard = ? AND writer = ?",
		values:    []any{int64(to), shard, w[:]},
		timestamp: int64(to),
	})
}

// Claims implements store.Store.
func (s *Store) Claims(ctx context.Context, shard int) ([]store.Claim, error) {
	it := s.query(ctx, "claims", claimRows,
		"SELECT writer, epoch, since, alive, closed, last, sealed, sealing, saved, WRITETIME(alive) FROM claim WHERE shard = ?", shard)
	var claims []store.Claim
	for {
		var writer []byte
		var epoch, stamp *int64 // null if only the sealed position of a dropped writer is left
		var last, sealed, sealing int64
		c := store.Claim{Shard: shard}
		if !it.Scan(&writer, &epoch, &c.Since, &c.Alive, &c.Closed, &last, &sealed, &sealing, &c.Saved, &stamp) {
			break
		}
		if epoch == nil || stamp == nil {
			continue
		}
		copy(c.Writer[:], writer)
		c.Epoch, c.Last, c.Sealed = uint64(*epoch), store.Position(last), store.Position(sealed)
		c.Sealing, c.Stamp = store.Term(sealing), *stamp
		claims = append(claims, c)
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("reading the claims of shard %d: %w", shard, err)
	}
	slices.SortFunc(claims, func(a, b store.Claim) int {
		return cmp.Or(cmp.Compare(b.Epoch, a.Epoch), bytes.Compare(a.Writer[:], b.Writer[:]))
	})
	return claims, nil
}

// DropClaim implements store.Store. The deletion has the timestamp of the claim that was read,
// which the writer's clock set. A timestamp of this process's clock could delete a newer claim
// too. DropClaim does not delete the journal rows, because they expire by their TTL, and
// deletions would cost more than they free.
func (s *Store) DropClaim(ctx context.Context, c store.Claim) error {
	err := s.write(ctx, write{
		operation: "claim",
		stmt:      "DELETE epoch, since, alive, closed, last, sealing, saved FROM claim WHERE shard = ? AND writer = ?",
		values:    []any{c.Shard, c.Writer[:]},
		timestamp: c.Stamp,
	})
	if err != nil || c.Sealed == 0 {
		return err
	}
	// Of two cells with the same timestamp, the one with a TTL wins.
	return s.write(ctx, write{
		operation: "sealed",
		stmt:      "UPDATE claim USING TTL ? SET sealed = ? WHERE shard = ? AND writer = ?",
		values:    []any{forgetSealed, int64(c.Sealed), c.Shard, c.Writer[:]},
		timestamp: int64(c.Sealed),
	})
}
