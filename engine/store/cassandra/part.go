package cassandra

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// Limits of the parts of one blob that are in flight at a time.
const (
	partsWritten = 8 // this leaves room for other writes in the bytes in flight
	partsRead    = 8 // rows of a page
)

// ErrTorn means that parts of a blob are missing.
var ErrTorn = errors.New("parts of a blob are missing")

// partition is the place of the parts of a blob. It has the values of the partition's key and
// the statements that use them. The key of a part is these values and the number of the part.
type partition struct {
	operation    string
	insert, read string
	key          []any
	timed        bool // insert ends with a TTL
	ttl          int
}

func journalParts(r *store.JournalRow) partition {
	return partition{
		operation: "journal_part",
		insert:    "INSERT INTO journal_part (shard, writer, n, seq, part, body) VALUES (?, ?, ?, ?, ?, ?)",
		read:      "SELECT part, body FROM journal_part WHERE shard = ? AND writer = ? AND n = ? AND seq = ?",
		key:       []any{r.Shard, r.Writer[:], int64(r.At.N()), int64(r.At.Seq())},
	}
}

var (
	insertPart = onTiers(`INSERT INTO block_part_@ (pv, bucket, start, writer, n, stamp, part, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TTL ?`)
	readParts = onTiers(`SELECT part, body FROM block_part_@
		WHERE pv = ? AND bucket = ? AND start = ? AND writer = ? AND n = ? AND stamp = ?`)
)

// blockParts returns the partition of a block's parts. The TTL is for writing.
func blockParts(k *store.BlockKey, stamp int64, ttl int) partition {
	return partition{
		operation: "block_part",
		insert:    insertPart[k.Bucket.Tier()],
		read:      readParts[k.Bucket.Tier()],
		key:       append(blockKey(k), stamp),
		timed:     true,
		ttl:       ttl,
	}
}

// blockKey returns the primary key of a block. The caller owns the slice.
func blockKey(k *store.BlockKey) []any {
	return append(make([]any, 0, 8), k.PV, int64(k.Bucket), k.Start, k.Writer[:], int64(k.N))
}

// putParts writes a blob in parts and returns when a quorum has all parts. Each part waits
// until the bytes in flight leave room for it.
func (s *Store) putParts(ctx context.Context, p partition, blob []byte, timestamp int64) error {
	n := (len(blob) + schema.PartBytes - 1) / schema.PartBytes
	return each(ctx, n, partsWritten, func(ctx context.Context, i int) error {
		part := blob[i*schema.PartBytes : min((i+1)*schema.PartBytes, len(blob))]
		values := append(append(make([]any, 0, len(p.key)+3), p.key...), i, part)
		if p.timed {
			values = append(values, p.ttl)
		}
		return s.write(ctx, write{
			operation: p.operation,
			stmt:      p.insert,
			values:    values,
			size:      len(part),
			timestamp: timestamp,
		})
	})
}

// getParts reads the parts of a blob of the given size and returns the blob. It returns
// ErrTorn if parts are missing, or if there cannot be a blob of that size.
func (s *Store) getParts(ctx context.Context, p partition, size int) ([]byte, error) {
	if size < 0 || size > store.MaxBlob {
		return nil, fmt.Errorf("%w: a blob of %d bytes: %w", ErrTorn, size, store.ErrTooLarge)
	}
	blob := make([]byte, 0, size)
	it := s.query(ctx, p.operation+"_read", partsRead, p.read, p.key...)
	var part int
	var body []byte
	for want := 0; it.Scan(&part, &body); want++ {
		if part != want || len(blob)+len(body) > size {
			break
		}
		blob = append(blob, body...)
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	if len(blob) != size {
		return nil, fmt.Errorf("%w: only %d of %d bytes were found", ErrTorn, len(blob), size)
	}
	return blob, nil
}
