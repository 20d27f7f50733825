package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"iter"
)

// WriterID identifies a writer. An engine writes its marks under one, a shardJournal its
// rows for as long as it holds the shard, a spool segment its rows, and a sealer its
// blocks. It is random (a version 4 UUID), so no two writers ever share a key.
type WriterID [16]byte

// NewWriter returns an ID that no other writer has.
func NewWriter() (w WriterID) {
	rand.Read(w[:])
	w[6] = w[6]&0x0f | 0x40
	w[8] = w[8]&0x3f | 0x80
	return w
}

// String returns the 32 hexadecimal digits.
func (w WriterID) String() string { return hex.EncodeToString(w[:]) }

// Position is a place in the journal of a writer: the partition n in the upper
// 32 bits, the sequence number of a row in the lower 32. 0 is before all rows.
type Position uint64

// At returns the position of row seq of partition n. Both count from 1.
func At(n, seq uint32) Position { return Position(n)<<32 | Position(seq) }

// N returns the partition.
func (p Position) N() uint32 { return uint32(p >> 32) }

// Seq returns the sequence number within the partition.
func (p Position) Seq() uint32 { return uint32(p) }

// JournalRow holds the samples that a writer received for a shard in one flush interval.
type JournalRow struct {
	Shard  int
	Writer WriterID
	At     Position
	// Index and Blob are encoded by package journal.
	Index, Blob []byte
}

// Claim says that a writer journals a shard. A writer puts its claim before its
// first row in that shard.
type Claim struct {
	Shard  int
	Writer WriterID
	// Epoch ranks the writers of a shard: the highest epoch seen at the start, plus 1.
	Epoch uint64
	// Since and Alive are the first and the latest sign of life: engine times in ns.
	Since, Alive int64
	// Sealed is the position up to which all rows are in blocks. It only rises.
	Sealed Position
	// Closed says that the writer shut down in order and writes no row after Last.
	Closed bool
	// Last is the position of the last row of a closed writer.
	Last Position
	// Sealing is the term under which the writer's engine seals the shard.
	Sealing Term
	// Saved is an engine time in ns. All samples that the engine captured in the shard
	// before it are in acknowledged rows. It is not after Alive.
	Saved int64
	// Stamp identifies this version of a claim that was read, if the store needs that.
	// It is not written.
	Stamp int64
}

// Term ranks the engines that seal a shard. Of the writers whose claims are alive, the one
// with the highest term is the leader. Between equal terms the greater writer ID wins.
type Term uint64

// Terms below FirstTerm do not rank.
const (
	// Follows says that the engine drops its samples once the leader has sealed them.
	Follows Term = 0
	// Helps says that the engine follows, and seals its own rows when memory is short.
	Helps Term = 1
	// FirstTerm is the lowest term of a leader.
	FirstTerm Term = 2
)

// Journal is the part of a Store that holds samples until they are sealed, and the
// claims of their writers.
type Journal interface {
	// PutClaim writes a writer's claim, without its Sealed position.
	PutClaim(ctx context.Context, c Claim) error
	// Seal raises the sealed position of a writer. A lower position changes nothing,
	// even if it arrives later.
	Seal(ctx context.Context, shard int, w WriterID, to Position) error
	// Claims returns the claims of a shard, highest epoch first.
	Claims(ctx context.Context, shard int) ([]Claim, error)
	// DropClaim deletes the claim, as Claims returned it, of a writer that is closed or
	// dead and sealed up to its end. If the writer has put another claim since, that
	// claim stays. The sealed rows may be deleted too, at once or later.
	DropClaim(ctx context.Context, c Claim) error

	// PutJournal writes a row.
	PutJournal(ctx context.Context, r JournalRow) error
	// Journal yields the rows of a writer after a position, in order. A writer must use
	// partition n+1 only once partition n holds a row.
	Journal(ctx context.Context, shard int, w WriterID, after Position) iter.Seq2[JournalRow, error]
}
