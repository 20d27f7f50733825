// Package store declares the rows of an archive and the queries that every back
// end serves. store/pebble and store/cassandra implement Store; store/storetest
// is the suite that both pass.
//
//	journal (shard, writer, n, seq) ── durable ≤ 1 s after arrival
//	   │ claims say who wrote, and up to where it is sealed
//	   ▼ sealer
//	block (pv, bucket, start, writer, n)      mark (pv, time, kind, reason, writer)
//	   │ rolled up                            metadata (pv, time)
//	   ▼
//	rollup (pv, level, tile)
//	channel (pv): the directory, made of sets that only grow
//	cutoff: before it raw samples were given up for want of room      progress (shard)
//
// A bucket of blocks, and a level of rollups, stand on a tier of the retention
// tiers, which says how long they are kept. All rows of a bucket go together, and
// so do those of a tile. Blocks and rollups that are expired may still be seen until
// the store is told to Expire them, or does so by itself.
//
// Every write is an idempotent upsert: repeating one, in any order and from any
// number of writers, changes nothing. A write returns when it is durable. On an
// error its outcome is unknown, and the caller repeats it.
package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"iter"

	"varve.dev/varve/engine/sample"
)

// WriterID identifies who writes: an engine its marks, a shardJournal its journal rows for
// as long as it holds a shard once, a segment of a spool its rows, a sealer its
// blocks. It is random (a version 4 UUID), so no two writers ever share a key.
type WriterID [16]byte

// NewWriter returns a writer that nobody else is.
func NewWriter() (w WriterID) {
	rand.Read(w[:])
	w[6] = w[6]&0x0f | 0x40
	w[8] = w[8]&0x3f | 0x80
	return w
}

// String returns the 32 hexadecimal digits.
func (w WriterID) String() string { return hex.EncodeToString(w[:]) }

// Position is a place in the journal of a writer: partition n in the upper
// 32 bits, sequence number of a row in the lower. 0 is before all rows.
type Position uint64

// At returns the position of row seq of partition n. Both count from 1.
func At(n, seq uint32) Position { return Position(n)<<32 | Position(seq) }

// N returns the partition.
func (p Position) N() uint32 { return uint32(p >> 32) }

// Seq returns the sequence number within the partition.
func (p Position) Seq() uint32 { return uint32(p) }

// JournalRow holds the samples a writer got for a shard in one flush interval.
// Index and Blob are encoded by package journal.
type JournalRow struct {
	Shard  int
	Writer WriterID
	At     Position
	Index  []byte
	Blob   []byte
}

// Claim says that a writer journals a shard. A writer inserts it before its
// first row there.
type Claim struct {
	Shard  int
	Writer WriterID
	// Epoch ranks the writers of a shard: the highest seen at the start, plus 1.
	Epoch uint64
	// Since and Alive are engine times in ns: the first and latest sign of life.
	Since, Alive int64
	// Sealed is the position up to which all rows are in blocks. It only rises.
	Sealed Position
	// Closed says that the writer ended in order, and that no row follows Last.
	Closed bool
	// Last is the position of the last row of a closed writer.
	Last Position
	// Sealing says what the writer's engine does with the rows of the shard.
	Sealing Term
	// Saved is an engine time in ns: all that the engine captured in the shard before is in
	// acknowledged rows. It is not after Alive.
	Saved int64
	// Stamp tells this version of a claim that was read from others, if the store needs
	// that. It is not written.
	Stamp int64
}

// Term ranks the engines that seal a shard: of those whose claims live, the one with the
// highest term is its sealer; of equal ones that with the greater writer.
type Term uint64

// Terms below FirstTerm are none.
const (
	// Follows: the engine gives up what another one has sealed.
	Follows Term = 0
	// Helps: it follows, and seals its own rows when it is short of memory.
	Helps Term = 1
	// FirstTerm of a sealer.
	FirstTerm Term = 2
)

// BlockKey identifies a block. Start is the time of its first sample when it
// was created, and stays; N is counted by the writer for each PV.
type BlockKey struct {
	PV     string
	Bucket Bucket
	Start  int64
	Writer WriterID
	N      uint32
}

// Block is a run of samples of one PV and one type, sorted by time, without
// doubles. Blob is encoded by package block. A block is written again under its
// key while it grows.
type Block struct {
	BlockKey
	// End is the time of the last sample.
	End int64
	// Count is the number of samples; a carried-forward one is not counted, nor is it
	// in the aggregates.
	Count int
	Type  sample.Type
	// Min, Max and Sum are over the values that are numbers; NaN if there is none.
	Min, Max, Sum float64
	Blob          []byte
}

// Channel is the directory entry of a PV. Its sets only grow, so that engines
// can add to them without reading first.
type Channel struct {
	PV string
	// Shards are those whose journals may hold rows of the PV.
	Shards []int
	// Starts say where blocks of the PV are: a bucket can hold some only if it, or
	// an earlier one of its span, is listed. It is added, and acknowledged, before
	// the first such block.
	Starts []Bucket
	// Types are those its samples have had.
	Types []sample.Type
	// Levels are those it has rollups of. One is added, and acknowledged, before the
	// first tile; and tiles stand only in spans of time that Starts name.
	Levels []Level
}

// PVMark is a mark of a PV, as written by one writer.
type PVMark struct {
	PV     string
	Writer WriterID
	sample.Mark
}

// PVMetadata is the metadata a PV had from Time on.
type PVMetadata struct {
	PV   string
	Time int64
	sample.Metadata
}

// MaxBlob is the largest Blob, in bytes, that a row may hold: that of one value
// of 16 MiB, with what a structure, and a row of the journal, have beside it.
const MaxBlob = 20 << 20

// ErrTooLarge is returned for a row whose blob is larger than MaxBlob.
var ErrTooLarge = errors.New("blob larger than a row may be")

// ErrNoTier is returned for a row on a tier that the store does not have.
var ErrNoTier = errors.New("the store keeps nothing on this tier")

// Store keeps the rows of one archive. All methods are safe for concurrent use.
// Sequences yield rows whose memory the caller may keep, and hold no more than one
// large blob at a time; a sequence ends after its first error. A row is seen whole
// or not at all, however large it is: also while it is being written, written
// again or deleted, and when that was broken off.
type Store interface {
	// PutClaim inserts a writer's claim, without its Sealed position.
	PutClaim(ctx context.Context, c Claim) error
	// Seal raises the sealed position of a writer. A lower one changes nothing,
	// also when it arrives later.
	Seal(ctx context.Context, shard int, w WriterID, to Position) error
	// Claims returns the claims of a shard, highest epoch first.
	Claims(ctx context.Context, shard int) ([]Claim, error)
	// DropClaim forgets a writer that is closed, or dead, and sealed up to its end, by a
	// claim that Claims returned. If the writer has put another one since, that stays.
	// The rows that are sealed may go as well, at once or later.
	DropClaim(ctx context.Context, c Claim) error

	// PutJournal writes a row.
	PutJournal(ctx context.Context, r JournalRow) error
	// Journal yields the rows of a writer after a position, in order. It relies
	// on partition n+1 being used only once partition n holds a row.
	Journal(ctx context.Context, shard int, w WriterID, after Position) iter.Seq2[JournalRow, error]

	// PutBlocks writes blocks, several at once.
	PutBlocks(ctx context.Context, blocks ...Block) error
	// Blocks yields the blocks of a PV in a bucket that overlap [from, to],
	// by start, then writer, then n.
	Blocks(ctx context.Context, pv string, b Bucket, from, to int64) iter.Seq2[Block, error]
	// LastBlock returns the block in a bucket that holds the latest sample at or
	// before a time, as far as start and end tell: of the blocks whose start is
	// at or before it, the one of greatest end.
	LastBlock(ctx context.Context, pv string, b Bucket, at int64) (blk Block, found bool, err error)
	// DropBucket deletes the blocks of a PV in a bucket that were written at or before a
	// time, in ns since 1970, by the clocks of their writers: a block that was written
	// again since stays whole. It returns the bytes that the others took, about, in all
	// copies that the store has.
	DropBucket(ctx context.Context, pv string, b Bucket, before int64) (bytes int64, err error)

	// PutRollups writes tiles of rollups. Of two writes of a tile the one with the
	// later Stamp stays, in whatever order they arrive.
	PutRollups(ctx context.Context, rows ...Rollup) error
	// Rollups yields the tiles of a PV and a level from first to last, both included,
	// by time. What it costs grows with the length of the range as well as with the
	// number of tiles, so the range should be one that the directory allows.
	Rollups(ctx context.Context, pv string, l Level, first, last Tile) iter.Seq2[Rollup, error]

	// Expire deletes the blocks and rollups of all PVs that their tiers keep no longer,
	// as of a time in ns since 1970. A store whose rows expire by themselves has
	// nothing to do.
	Expire(ctx context.Context, now int64) error
	// Tiers returns the tiers that blocks and rollups can be written to.
	Tiers(ctx context.Context) ([]Tier, error)

	// AddChannel adds to the directory entry of a PV.
	AddChannel(ctx context.Context, c Channel) error
	// Channel returns the directory entry of a PV.
	Channel(ctx context.Context, pv string) (c Channel, found bool, err error)
	// Channels yields the whole directory, in no particular order.
	Channels(ctx context.Context) iter.Seq2[Channel, error]

	// PutMarks writes marks.
	PutMarks(ctx context.Context, marks ...PVMark) error
	// Marks yields the marks of a PV with Time in [from, to], by time.
	Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[PVMark, error]

	// PutMetadata writes an entry of a PV's metadata history.
	PutMetadata(ctx context.Context, m PVMetadata) error
	// MetadataAt returns the metadata in force at a time: the latest entry at or
	// before it, or else the first one.
	MetadataAt(ctx context.Context, pv string, at int64) (m PVMetadata, found bool, err error)
	// Metadata yields the entries of a PV's metadata history with Time in
	// [from, to], by time.
	Metadata(ctx context.Context, pv string, from, to int64) iter.Seq2[PVMetadata, error]

	// Delete deletes everything that is stored of a PV but its journal rows, the
	// directory entry, which names what there is, last. So it can be repeated after an error, or after a crash
	// in the middle. Rows that are written while it runs may stay, or go.
	Delete(ctx context.Context, pv string) error

	// PutCutoff writes the cutoff. A Before that is lower than the one that stands changes
	// nothing of that, also when it arrives later.
	PutCutoff(ctx context.Context, f Cutoff) error
	// Cutoff returns the cutoff; false if nothing was ever given up.
	Cutoff(ctx context.Context) (f Cutoff, found bool, err error)
	// PutCutoffProgress writes how far a shard has followed.
	PutCutoffProgress(ctx context.Context, s CutoffProgress) error
	// CutoffProgress returns those of all shards that have one, by shard.
	CutoffProgress(ctx context.Context) ([]CutoffProgress, error)

	// Limit returns the bytes that the archive may take by the settings of the servers;
	// 0 if they set none, or do not say.
	Limit(ctx context.Context) (int64, error)
	// Size returns the bytes the archive takes on disk, as far as the store can
	// tell; 0 where it can not.
	Size(ctx context.Context) (int64, error)
	// Close releases the store. No call may follow.
	Close() error
}
