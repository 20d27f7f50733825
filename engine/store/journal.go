package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"iter"
	"time"
)

// WriterID identifies a writer. An engine has one for its marks, a shardJournal for its rows
// while it holds the shard, a spool segment for its rows, and a sealer for its blocks. A
// WriterID is random (a version 4 UUID), so two writers never share a key.
type WriterID [16]byte

// NewWriter returns an ID that no other writer has.
func NewWriter() (w WriterID) {
	rand.Read(w[:])
	w[6] = w[6]&0x0f | 0x40
	w[8] = w[8]&0x3f | 0x80
	return w
}

// Imported is the writer of the marks of all imports. Marks of equal times and kinds from equal writers
// are one mark, so an import that is repeated adds none.
var Imported = WriterID{'i', 'm', 'p', 'o', 'r', 't', 0x40, 0, 0x80}

// String returns the 32 hexadecimal digits.
func (w WriterID) String() string { return hex.EncodeToString(w[:]) }

// Position is a place in the journal of a writer. The upper 32 bits are the partition n, and
// the lower 32 bits are the sequence number of the row. Position 0 is before all rows.
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
	// Index and Blob hold the samples as package journal encodes them.
	Index, Blob []byte
	// Written is when the row was written last, in ns since 1970 by the clocks of the store. It
	// counts for JournalTTL. It is 0 if rows do not expire. PutJournal ignores it.
	Written int64
	// Damage says why the store has the row but cannot return its blob. It is nil for a whole
	// row.
	Damage error
}

// Claim is a writer's statement that it journals a shard. A writer writes its claim before its
// first row in that shard.
type Claim struct {
	Shard  int
	Writer WriterID
	// Epoch ranks the writers of a shard: the highest epoch seen at the start, plus 1.
	Epoch uint64
	// Since and Alive are the times of the first and the latest sign of life, in ns since 1970. Alive is the
	// time that the engine's clock showed, right or wrong, so other engines can compare that clock with theirs.
	// Since is the earliest time that it may be, like Saved.
	Since, Alive int64
	// Sealed is the sealed position: all rows up to it are in blocks. It only rises.
	Sealed Position
	// Closed is true if the writer shut down in order. It writes no row after Last.
	Closed bool
	// Last is the position of a row that was acknowledged before the claim was written, or 0 if
	// the writer did not say so. If the writer is closed, it is the position of its last row.
	Last Position
	// Sealing is the term under which the writer's engine seals the shard.
	Sealing Term
	// Saved is a time in ns since 1970. All samples that the engine captured in the shard before this
	// time are in acknowledged rows. It is compared with the times of samples, so it is the earliest time
	// that it may have been, by what the engine knew about its clock (clock.Instant.Begin). Saved may be
	// after Alive if that clock is behind.
	Saved int64
	// Stamp identifies the version of a claim that Claims returned, if the store needs it.
	// PutClaim ignores it.
	Stamp int64
}

// Term ranks the engines that seal a shard. The leader is the writer with the highest term
// among the writers whose claims are alive. If terms are equal, the writer with the greater ID
// is the leader.
type Term uint64

// Terms below FirstTerm do not rank.
const (
	// Follows means that the engine is a follower: it releases its samples once the leader has
	// sealed them.
	Follows Term = 0
	// Assists means that the engine is a follower that assists: it seals its own rows when
	// memory is short.
	Assists Term = 1
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
	// DropClaim deletes a claim as Claims returned it. The writer must be closed or dead, and
	// all its rows must be sealed. If the writer has written its claim again since Claims
	// returned it, the newer claim stays. The store may also delete the sealed rows, at once
	// or later.
	DropClaim(ctx context.Context, c Claim) error

	// JournalTTL returns how long rows are kept, or 0 if they are kept until they are sealed.
	JournalTTL(ctx context.Context) (time.Duration, error)
	// PutJournal writes a row.
	PutJournal(ctx context.Context, r JournalRow) error
	// Journal yields the rows of a writer after a position, in order. A writer must not use
	// partition n+1 before partition n contains a row, so Journal may end at a partition without
	// rows. But rows that are not sealed in time expire, the oldest first. So Journal does not end
	// before the partition of the position through, which the caller takes from Claim.Last. Rows
	// after it are yielded too.
	Journal(ctx context.Context, shard int, w WriterID, after, through Position) iter.Seq2[JournalRow, error]
	// JournalWhere yields the same rows as Journal, but fetches the blobs only of the rows whose
	// index is wanted. The Blob of the other rows is nil. A wanted row that is deleted during the
	// call may be left out.
	JournalWhere(ctx context.Context, shard int, w WriterID, after, through Position, wanted func(index []byte) bool) iter.Seq2[JournalRow, error]
}
