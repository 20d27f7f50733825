package golden

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Dump is the content of a keyspace as text: the statements that create its tables, and the rows.
type Dump struct {
	Tables []string `json:"tables"`
	Rows   []Row    `json:"rows"`
}

// Row is a row of a table. Its cells have their timestamps, because these have a meaning: see
// docs/format/cassandra.md. Values are in the JSON form of Cassandra.
type Row struct {
	Table string            `json:"table"`
	Key   map[string]string `json:"key"`
	Cells map[string]Cell   `json:"cells,omitempty"`
}

// Cell is the value of a column.
type Cell struct {
	Value string `json:"v"`
	Stamp int64  `json:"t"` // µs since 1970, unless the table gives it another meaning
}

// keyspaceMark stands for the name of the keyspace in statements.
const keyspaceMark = "@keyspace@"

// WriteDump writes the content of a keyspace.
func WriteDump(ctx context.Context, session *gocql.Session, keyspace string, to io.Writer) error {
	var d Dump
	tables, err := columnsOf(ctx, session, keyspace)
	if err != nil {
		return err
	}
	it := session.Query("DESCRIBE KEYSPACE " + keyspace).IterContext(ctx)
	var of, kind, name, stmt string
	for it.Scan(&of, &kind, &name, &stmt) {
		if kind == "table" {
			d.Tables = append(d.Tables, strings.ReplaceAll(stmt, keyspace+".", keyspaceMark+"."))
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("describing the keyspace: %w", err)
	}
	for _, t := range tables {
		rows, err := t.read(ctx, session, keyspace)
		if err != nil {
			return fmt.Errorf("reading table %s: %w", t.name, err)
		}
		d.Rows = append(d.Rows, rows...)
	}
	enc := json.NewEncoder(to)
	enc.SetIndent("", " ")
	return enc.Encode(d)
}

// table is a table with its columns.
type table struct {
	name        string
	keys, cells []string
	collection  map[string]bool // of cells
	clustering  map[string]bool // of keys
	static      map[string]bool // of cells
	double      map[string]bool // of cells
}

func columnsOf(ctx context.Context, session *gocql.Session, keyspace string) ([]*table, error) {
	it := session.Query("SELECT table_name, column_name, kind, type FROM system_schema.columns WHERE keyspace_name = ?", keyspace).IterContext(ctx)
	var out []*table
	var of, column, kind, typ string
	for it.Scan(&of, &column, &kind, &typ) {
		i := slices.IndexFunc(out, func(t *table) bool { return t.name == of })
		if i < 0 {
			i, out = len(out), append(out, &table{
				name: of, collection: map[string]bool{}, clustering: map[string]bool{}, static: map[string]bool{}, double: map[string]bool{},
			})
		}
		switch t := out[i]; kind {
		case "partition_key", "clustering":
			t.keys = append(t.keys, column)
			t.clustering[column] = kind == "clustering"
		default:
			t.cells = append(t.cells, column)
			t.static[column] = kind == "static"
			t.double[column] = typ == "double"
			t.collection[column] = strings.HasPrefix(typ, "set<")
		}
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("reading the columns: %w", err)
	}
	return out, nil
}

func (t *table) read(ctx context.Context, session *gocql.Session, keyspace string) (rows []Row, err error) {
	var parts []string
	for _, c := range append(slices.Clone(t.keys), t.cells...) {
		if t.double[c] {
			parts = append(parts, "CAST("+c+" AS text)") // toJson returns null for NaN and infinities
		} else {
			parts = append(parts, "toJson("+c+")")
		}
	}
	for _, c := range t.cells {
		if t.collection[c] {
			parts = append(parts, "toJson(MAXWRITETIME("+c+"))")
		} else {
			parts = append(parts, "toJson(WRITETIME("+c+"))")
		}
	}
	it := session.Query("SELECT " + strings.Join(parts, ", ") + " FROM " + keyspace + "." + t.name).IterContext(ctx)
	texts := make([]string, len(parts))
	to := make([]any, len(parts))
	for i := range texts {
		to[i] = &texts[i]
	}
	for it.Scan(to...) {
		r := Row{Table: t.name, Key: map[string]string{}, Cells: map[string]Cell{}}
		for i, c := range t.keys {
			r.Key[c] = texts[i]
		}
		for i, c := range t.cells {
			v := Cell{Value: texts[len(t.keys)+i]}
			stamp := texts[len(t.keys)+len(t.cells)+i]
			if v.Value == "null" || stamp == "null" {
				continue
			}
			if t.double[c] && strings.Contains("NaN -Infinity", v.Value) {
				v.Value = `"` + v.Value + `"`
			}
			if err := json.Unmarshal([]byte(stamp), &v.Stamp); err != nil {
				return nil, fmt.Errorf("timestamp %s of column %s: %w", stamp, c, err)
			}
			r.Cells[c] = v
		}
		rows = append(rows, r)
	}
	return rows, it.Close()
}

// Load creates the tables of a dump in an existing keyspace, and writes the rows.
func Load(ctx context.Context, session *gocql.Session, keyspace string, from io.Reader) error {
	var d Dump
	if err := json.NewDecoder(from).Decode(&d); err != nil {
		return fmt.Errorf("decoding the dump: %w", err)
	}
	for _, stmt := range d.Tables {
		if err := session.Query(strings.ReplaceAll(stmt, keyspaceMark+".", keyspace+".")).ExecContext(ctx); err != nil {
			return fmt.Errorf("creating a table: %w\n%s", err, stmt)
		}
	}
	tables, err := columnsOf(ctx, session, keyspace)
	if err != nil {
		return err
	}
	for _, r := range d.Rows {
		i := slices.IndexFunc(tables, func(t *table) bool { return t.name == r.Table })
		if i < 0 {
			return fmt.Errorf("the dump has a row of table %s, which it does not create", r.Table)
		}
		if err := r.write(ctx, session, keyspace, tables[i]); err != nil {
			return fmt.Errorf("writing a row of table %s: %w", r.Table, err)
		}
	}
	return nil
}

// write writes each cell with its timestamp. A row without cells consists of its key. A static cell belongs to
// the partition.
func (r *Row) write(ctx context.Context, session *gocql.Session, keyspace string, t *table) error {
	if len(r.Cells) == 0 {
		columns, marks, keys := r.key(t.keys)
		return session.Query(fmt.Sprintf("INSERT INTO %s.%s (%s) VALUES (%s)", keyspace, r.Table, strings.Join(columns, ", "), strings.Join(marks, ", ")),
			keys...).ExecContext(ctx)
	}
	partition := slices.DeleteFunc(slices.Clone(t.keys), func(c string) bool { return t.clustering[c] })
	for c, v := range r.Cells {
		of := t.keys
		if t.static[c] {
			of = partition
		}
		columns, marks, keys := r.key(of)
		for i := range columns {
			columns[i] += " = " + marks[i]
		}
		stmt := fmt.Sprintf("UPDATE %s.%s USING TIMESTAMP ? SET %s = fromJson(?) WHERE %s", keyspace, r.Table, c, strings.Join(columns, " AND "))
		if err := session.Query(stmt, append([]any{v.Stamp, v.Value}, keys...)...).ExecContext(ctx); err != nil {
			return fmt.Errorf("column %s: %w", c, err)
		}
	}
	return nil
}

// key returns the names of key columns, the marks for their values in a statement, and the values.
func (r *Row) key(of []string) (columns, marks []string, values []any) {
	for _, c := range of {
		columns, marks, values = append(columns, c), append(marks, "fromJson(?)"), append(values, r.Key[c])
	}
	return columns, marks, values
}
