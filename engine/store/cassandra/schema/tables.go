package schema

import (
	"fmt"
	"time"

	"varve.dev/varve/engine/store"
)

// These are limits of the blob in one row, in bytes. The blob of a block that is larger than
// BlockInline, and the blob of a journal row that is larger than PartBytes, are stored out of
// line: in parts of PartBytes, in a partition of their own.
const (
	PartBytes   = 512 << 10
	BlockInline = 128 << 10
)

// Outlive is how much longer parts and notes are kept than their rows, which cannot be read
// without them. It is more than the time between the write of the parts and the write of the
// row, and more than the difference between the clocks of nodes.
const Outlive = time.Hour

// table is a table: its name, its columns and key, and its options, including WITH.
type table struct{ name, columns, options string }

func (t *table) create(keyspace string) string {
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s.%s (%s)%s", keyspace, t.name, t.columns, t.options)
}

// tables are the tables that exist once. If the name of a column would be a CQL keyword, the
// column has a longer name.
var tables = []table{
	{name: "schema_version", columns: `part text PRIMARY KEY, version int`},

	// Rows are written without a row marker. A row disappears when all its columns are
	// deleted, regardless of the timestamp with which its sealed position is deleted.
	{name: "claim", columns: `
	shard int, writer blob, epoch bigint, since bigint, alive bigint, closed boolean, last bigint, sealed bigint, sealing bigint, saved bigint,
	PRIMARY KEY (shard, writer)`},

	{name: "channel", columns: `
	pv text PRIMARY KEY, present boolean, shards set<bigint>, starts set<bigint>, types set<bigint>, levels set<bigint>,
	deleted set<blob>`},

	{name: "mark", columns: `
	pv text, time bigint, kind smallint, reason smallint, writer blob, end_time bigint, lost bigint, note text,
	PRIMARY KEY (pv, time, kind, reason, writer)`},

	// The cutoff is in the static columns of the only partition, part 'floor'. Earlier
	// versions called the cutoff a floor, and the name is stored. The value of the column
	// before is its own timestamp.
	{name: "disk_guard", columns: `
	part text, shard int, floor bigint, buckets bigint, bytes bigint,
	before bigint static, raised bigint static, raised_by blob static, size bigint static, max_size bigint static,
	open boolean static, settled bigint static, peak bigint static,
	PRIMARY KEY (part, shard)`},

	{name: "metadata", columns: `
	pv text, time bigint, kind smallint, elements int, units text, precision int,
	limits frozen<list<double>>, labels frozen<list<text>>, host text,
	properties frozen<map<text, text>>,
	PRIMARY KEY (pv, time)`, options: ` WITH CLUSTERING ORDER BY (time DESC)`},
}

// journalTables returns the tables of a journal whose rows are kept for the given time. The
// column size has the size of a blob that is stored in parts.
func journalTables(ttl time.Duration) []table {
	return []table{
		{"journal", `
	shard int, writer blob, n int, seq int, names blob, body blob, size int,
	PRIMARY KEY ((shard, writer, n), seq)`, journalOptions(ttl, ttl)},
		{"journal_part", `
	shard int, writer blob, n int, seq int, part int, body blob,
	PRIMARY KEY ((shard, writer, n, seq), part)`, journalOptions(ttl, ttl+Outlive)},
	}
}

// journalOptions returns the options of a journal table. Each table has one TTL, so that whole
// SSTables expire. A window is a 24th of the time for which rows are kept. Rows are few and
// large, and are usually read from memtables. min_threshold keeps a window from being
// compacted over and over. Blobs are already compressed. gc_grace_seconds is at least as long
// as hints live.
func journalOptions(keep, ttl time.Duration) string {
	return fmt.Sprintf(` WITH compression = {'enabled': 'false'} AND gc_grace_seconds = 10800
AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS',
	'compaction_window_size': '%d', 'min_threshold': '32', 'max_threshold': '32'}
AND default_time_to_live = %d`, max(1, int(keep.Hours()/24)), int(ttl.Seconds()))
}

// tierTable is a table that exists once for each tier. The name of such a table ends with the
// tier's name.
type tierTable struct{ prefix, columns string }

func (t *tierTable) of(r store.Tier) string { return t.prefix + "_" + r.String() }

// tierTables are the tables of one tier. A block has a body or a stamp: see putOutOfLine. The
// comment of addReach explains the column reaches. Both are in package cassandra.
var tierTables = []tierTable{
	{"block", `
	pv text, bucket bigint, start bigint, writer blob, n int, reaches set<tinyint> static,
	end_time bigint, samples int, kind smallint, low double, high double, total double, size int, stamp bigint, body blob,
	PRIMARY KEY ((pv, bucket), start, writer, n)`},

	{"block_part", `
	pv text, bucket bigint, start bigint, writer blob, n int, stamp bigint, part int, body blob,
	PRIMARY KEY ((pv, bucket, start, writer, n), stamp, part)`},

	{"block_apart", `
	pv text, bucket bigint, start bigint, writer blob, n int,
	PRIMARY KEY ((pv, bucket), start, writer, n)`},

	{"rollup", `
	pv text, level bigint, part bigint, tile bigint, body blob,
	PRIMARY KEY ((pv, level, part), tile)`},
}

// tablesFor returns the tables of a tier.
func tablesFor(r store.Tier) []table {
	out := make([]table, len(tierTables))
	for i, t := range tierTables {
		out[i] = table{t.of(r), t.columns, tierOptions(r)}
		if out[i].name == "block_forever" {
			out[i].columns += oldReach
		}
	}
	return out
}

// oldReach is a column of version 2 that its archives still have.
const oldReach = ", reach bigint static"

// tierOptions returns the options of the tables of a tier. All rows in the SSTables of a
// window expire within the length of a window and a bucket, so Cassandra deletes these
// SSTables whole. Two things could keep an SSTable. The first is a row that never expires, but
// there is no such row. The second is a newer SSTable with rows that are as old. Read repair
// would write such rows, so it is off. Readers do not need it, because acknowledged rows are
// on a quorum.
//
// gc_grace_seconds is how long rows stay on disk after they have expired. It is also how long
// a node may be down without bringing deleted rows back for good. If the rows of a tier are
// kept for a shorter time, deleted rows that come back expire anyway. So gc_grace_seconds is
// not much longer than the retention time, and at least as long as hints live.
func tierOptions(r store.Tier) string {
	const common = ` WITH compression = {'enabled': 'false'}`
	if r == store.Forever {
		return common + ` AND compaction = {'class': 'UnifiedCompactionStrategy'}`
	}
	window := max(1, int((r.Keep() / 30).Round(time.Hour).Hours()))
	grace := min(10*24*time.Hour, r.Keep()+r.Keep()/10+3*time.Hour)
	return common + fmt.Sprintf(` AND gc_grace_seconds = %d AND read_repair = 'NONE'
AND compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS', 'compaction_window_size': '%d'}`,
		int(grace.Seconds()), window)
}

// migration has the changes that tables need for a format level. They only add columns: expand, use,
// contract. A column is dropped only by a release whose oldest level does not use it.
type migration struct {
	to      store.FormatLevel
	changes []string
}

var migrations = []migration{
	{2, []string{
		"journal ADD IF NOT EXISTS size int",
		"block_forever ADD IF NOT EXISTS stamp bigint",
		"metadata ADD IF NOT EXISTS properties frozen<map<text, text>>",
	}},
	// Version 2 had a static column reach in block_forever, where it stays: see addReach in
	// package cassandra.
	{3, []string{
		"block_forever ADD IF NOT EXISTS reaches set<tinyint> static",
		"channel ADD IF NOT EXISTS levels set<bigint>",
	}},
	// Version 4 added the table disk_guard.
	{5, []string{"claim ADD IF NOT EXISTS sealing bigint", "claim ADD IF NOT EXISTS saved bigint"}},
	{6, []string{"channel ADD IF NOT EXISTS deleted set<blob>"}},
}
