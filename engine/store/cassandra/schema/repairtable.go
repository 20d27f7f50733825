package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
)

// repairTable is a table that is repaired.
type repairTable struct {
	keyspace, name string
	mode           string // its read_repair
	stmt           string // reads a slice of the ring
	rows           int    // rows per page
	mebibytes      int64  // its size on all nodes
}

func (t *repairTable) note() string { return repairNote(t.keyspace, t.name) }

// repairable switches on read repair for the tables of keyspaces, and returns the tables. The
// tables of most tiers of an archive are created without read repair: see tierOptions. restore
// undoes the change.
func (r *replicator) repairable(ctx context.Context, session *gocql.Session, subjects []subject) (out []*repairTable, err error) {
	for _, s := range subjects {
		tables, err := tablesOf(ctx, session, s.keyspace)
		if err != nil {
			return nil, err
		}
		ours := ownTables()
		for _, t := range tables {
			if t.mode != "BLOCKING" && s.keyspace == r.cfg.Keyspace && ours[t.name] {
				err = setReadRepair(ctx, session, t, "BLOCKING")
			} else if t.mode != "BLOCKING" {
				r.log.Warn("a table is not repaired: its read_repair is not BLOCKING", "table", t.keyspace+"."+t.name, "read_repair", t.mode)
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// restore switches read repair off again for the tables of tiers.
func (r *replicator) restore(ctx context.Context, session *gocql.Session) error {
	tables, err := tablesOf(ctx, session, r.cfg.Keyspace)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if expiring(t.name) && t.mode != "NONE" {
			if err := setReadRepair(ctx, session, t, "NONE"); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownTables returns the names of all tables that an archive may have.
func ownTables() map[string]bool {
	names := map[string]bool{}
	all := append(slices.Clone(tables), journalTables(0)...)
	for r := range store.Tier(store.NumTiers) {
		all = append(all, tablesFor(r)...)
	}
	for _, t := range all {
		names[t.name] = true
	}
	return names
}

// expiring reports whether tierOptions switches read repair off for a table.
func expiring(name string) bool {
	for r := range store.Tier(store.NumTiers) {
		if r != store.Forever && slices.ContainsFunc(tierTables, func(t tierTable) bool { return t.of(r) == name }) {
			return true
		}
	}
	return false
}

func setReadRepair(ctx context.Context, session *gocql.Session, t *repairTable, mode string) error {
	stmt := fmt.Sprintf("ALTER TABLE %s.%s WITH read_repair = '%s'", t.keyspace, named(t.name), mode)
	if err := session.Query(stmt).ExecContext(ctx); err != nil {
		return fmt.Errorf("setting read_repair of table %s.%s to %s: %w", t.keyspace, t.name, mode, cql.Permitted(err))
	}
	return nil
}

// tablesOf returns the tables of a keyspace.
func tablesOf(ctx context.Context, session *gocql.Session, keyspace string) (out []*repairTable, err error) {
	it := session.Query("SELECT table_name, read_repair FROM system_schema.tables WHERE keyspace_name = ?", keyspace).IterContext(ctx)
	for name, mode := "", ""; it.Scan(&name, &mode); {
		out = append(out, &repairTable{keyspace: keyspace, name: name, mode: mode})
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("looking for the tables of keyspace %s: %w", keyspace, err)
	}
	for _, t := range out {
		if err := t.prepare(ctx, session); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// prepare creates the statement. Cassandra repairs only the columns that a query selects. It
// compares the columns before it masks them, so the statement masks blobs, and the nodes need
// not send them to this process. In a table without regular columns, rows consist only of
// their keys.
func (t *repairTable) prepare(ctx context.Context, session *gocql.Session) error {
	it := session.Query("SELECT column_name, kind, position, type FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?",
		t.keyspace, t.name).IterContext(ctx)
	var columns []string
	key := map[int]string{}
	var name, kind, cqlType string
	for position := 0; it.Scan(&name, &kind, &position, &cqlType); {
		switch {
		case kind == "partition_key":
			key[position] = named(name)
		case kind == "clustering":
		case cqlType == "blob":
			columns = append(columns, "mask_null("+named(name)+")")
		default:
			columns = append(columns, named(name))
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("looking for the columns of table %s.%s: %w", t.keyspace, t.name, err)
	}
	var keys []string
	for i := range len(key) {
		keys = append(keys, key[i])
	}
	if len(columns) == 0 {
		columns = keys
	}
	token := "token(" + strings.Join(keys, ", ") + ")"
	// Each repair has a statement text of its own. A node uses the value that the table's
	// read_repair had when the node prepared the statement or started.
	t.stmt = fmt.Sprintf("SELECT %s FROM %s.%s WHERE %s > ? AND %s <= ? /* repair %d */",
		strings.Join(columns, ", "), t.keyspace, named(t.name), token, token, time.Now().UnixNano())
	t.rows = pageOf(t.name)
	return nil
}

// pageOf returns the number of rows of a table per page, so that a page usually has 4 MiB and
// at most 8 MiB.
func pageOf(name string) int {
	switch {
	case strings.HasPrefix(name, "journal_part"), strings.HasPrefix(name, "block_part"):
		return 4 << 20 / PartBytes
	case name == "journal":
		return 8 << 20 / PartBytes
	case strings.HasPrefix(name, "block_"), strings.HasPrefix(name, "rollup_"):
		return repairPage
	}
	return repairRows
}

// errPartitioner is returned for clusters with another partitioner than the
// Murmur3Partitioner, which has been the default since Cassandra 1.2.
var errPartitioner = errors.New("only rings of the Murmur3Partitioner can be repaired")

// measure reads the disk space of the tables on all nodes. Nodes that do not report it count
// as empty.
func measure(ctx context.Context, session *gocql.Session, dc string, tables []*repairTable) error {
	var partitioner string
	if err := session.Query("SELECT partitioner FROM system.local").ScanContext(ctx, &partitioner); err != nil {
		return fmt.Errorf("reading the partitioner: %w", err)
	}
	if !strings.HasSuffix(partitioner, "Murmur3Partitioner") {
		return fmt.Errorf("%w; this cluster uses %s", errPartitioner, partitioner)
	}
	for _, h := range session.GetHosts() {
		if h.DataCenter() != dc {
			continue
		}
		for _, t := range tables {
			var n int64
			err := session.Query("SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = ? AND table_name = ?", t.keyspace, t.name).
				SetHostID(h.HostID()).ScanContext(ctx, &n)
			if err == nil {
				t.mebibytes += n
			}
		}
	}
	return nil
}
