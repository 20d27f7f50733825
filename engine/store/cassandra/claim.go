package cassandra

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
)

// forgetSealed is how long the sealed position of a dropped writer stays, in
// seconds: should the writer only have been paused, it goes on from there.
const forgetSealed = int(30 * 24 * time.Hour / time.Second)

// claimRows is the size of a page: shards have few writers.
const claimRows = 1000

// PutClaim implements store.Store.
func (s *Store) PutClaim(ctx context.Context, c store.Claim) error {
	return s.write(ctx, write{
		operation: "claim",
		stmt:      "UPDATE claim SET epoch = ?, since = ?, alive = ?, closed = ?, last = ? WHERE shard = ? AND writer = ?",
		values:    []any{int64(c.Epoch), c.Since, c.Alive, c.Closed, int64(c.Last), c.Shard, c.Writer[:]},
	})
}

// Seal implements store.Store. The position is its own timestamp, so that the
// highest wins.
func (s *Store) Seal(ctx context.Context, shard int, w store.Writer, to store.Position) error {
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
		"SELECT writer, epoch, since, alive, closed, last, sealed FROM claim WHERE shard = ?", shard)
	var claims []store.Claim
	for {
		var writer []byte
		var epoch *int64 // null: only the position of a dropped writer is left
		var last, sealed int64
		c := store.Claim{Shard: shard}
		if !it.Scan(&writer, &epoch, &c.Since, &c.Alive, &c.Closed, &last, &sealed) {
			break
		}
		if epoch == nil {
			continue
		}
		copy(c.Writer[:], writer)
		c.Epoch, c.Last, c.Sealed = uint64(*epoch), store.Position(last), store.Position(sealed)
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

// DropClaim implements store.Store. Journal rows are left to their TTL: deleting
// them would cost more than it frees.
func (s *Store) DropClaim(ctx context.Context, shard int, w store.Writer) error {
	var sealed int64
	err := s.session.Query("SELECT sealed FROM claim WHERE shard = ? AND writer = ?", shard, w[:]).
		ScanContext(withOperation(ctx, "claims"), &sealed)
	if errors.Is(err, gocql.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the claim of writer %v: %w", w, err)
	}
	err = s.write(ctx, write{
		operation: "claim",
		stmt:      "DELETE epoch, since, alive, closed, last FROM claim WHERE shard = ? AND writer = ?",
		values:    []any{shard, w[:]},
	})
	if err != nil || sealed == 0 {
		return err
	}
	// Of two cells of one timestamp, that with a TTL wins.
	return s.write(ctx, write{
		operation: "sealed",
		stmt:      "UPDATE claim USING TTL ? SET sealed = ? WHERE shard = ? AND writer = ?",
		values:    []any{forgetSealed, sealed, shard, w[:]},
		timestamp: sealed,
	})
}
