package table

import (
	"net/http"

	"varve.dev/varve/engine/serve/value"
)

// Type is the type of a column.
type Type uint8

// The types of columns.
const (
	Time   Type = iota // ns since 1970, UTC
	Int                // int64
	Uint               // uint64
	Float              // float64
	Text               // UTF-8
	Word               // UTF-8, with few different values: names, labels, units
	Floats             // a list of float64
)

var typeNames = [...]string{
	Time: "time", Int: "int64", Uint: "uint64", Float: "float64", Text: "string", Word: "string", Floats: "float64[]",
}

// String returns the name that users see.
func (t Type) String() string { return typeNames[t] }

// Column describes a column.
type Column struct {
	Name string
	Type Type
	// Unit is the unit of all values, or empty if there is none or rows differ in it.
	Unit string
	// Labels are the names of the states, if all values are numbers of states of one PV.
	Labels []string
	// Nulls is true if rows may have no value. Only such columns may have null rows.
	Nulls bool
}

// Note is a fact about a table, such as its range: an entry of the metadata of a file.
type Note struct{ Key, Value string }

// Schema describes a table.
type Schema struct {
	Columns []Column
	// Notes are the facts that are known before the first row.
	Notes []Note
	// Origin says which archive the table comes from. Only files of the formats Arrow and Parquet have it.
	Origin []Note
}

// SetOrigin says in the headers of an answer which archive it comes from.
func SetOrigin(h http.Header, origin []Note) {
	for _, n := range origin {
		h.Set("Varve-"+n.Key, n.Value)
	}
}

// labelList returns the names of states as JSON, for the metadata of a file.
func labelList(labels []string) string {
	dst := []byte{'['}
	for i, label := range labels {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, label)
	}
	return string(append(dst, ']'))
}

// Format is a file format of tables.
type Format string

// The formats.
const (
	JSON    Format = "json"
	CSV     Format = "csv"
	Arrow   Format = "arrow"
	Parquet Format = "parquet"
)

// Formats lists the names of all formats.
var Formats = []string{string(JSON), string(CSV), string(Arrow), string(Parquet)}

// ContentType returns the media type of a format.
func (f Format) ContentType() string {
	switch f {
	case CSV:
		return "text/csv; charset=utf-8; header=present"
	case Arrow:
		return "application/vnd.apache.arrow.stream"
	case Parquet:
		return "application/vnd.apache.parquet"
	}
	return "application/json"
}
