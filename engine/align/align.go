package align

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// Fill is how a value at a time of the grid follows from samples.
type Fill uint8

// Ways to fill the grid.
const (
	Last Fill = iota
	Mean
	Linear
)

var fillNames = []string{Last: "last", Mean: "mean", Linear: "linear"}

// String returns the name in requests.
func (f Fill) String() string { return fillNames[f] }

// ParseFill parses the name of a Fill.
func ParseFill(text string) (Fill, error) {
	for i, name := range fillNames {
		if name == text {
			return Fill(i), nil
		}
	}
	return 0, fmt.Errorf("%.50q is not one of %s", text, strings.Join(fillNames, ", "))
}

// Bounds of a table.
const (
	// MaxRows is the maximum number of rows, and MaxCells that of the values.
	MaxRows  = 50_000_000
	MaxCells = 500_000_000
	// slabCells is the number of values that are held at a time, and slabText the number of bytes
	// of their texts. A single text may be longer.
	slabCells = 1 << 19
	slabText  = 16 << 20
)

// RefusedError is returned for a table that cannot be made of a PV.
type RefusedError struct{ text string }

// Error implements error.
func (e RefusedError) Error() string { return e.text }

// ErrTooLarge is wrapped by an error about a table with too many rows or values.
var ErrTooLarge = errors.New("the table is too large")

// Options say which table to make.
type Options struct {
	// From and To are the first and the last time of the range, and Step is the distance of rows,
	// in ns. Now is the present.
	From, To, Step, Now int64
	Fill                Fill
}

// Column describes the values of a PV.
type Column struct {
	PV string
	// Kind is rollup.Number, rollup.Choice for the numbers of states, or rollup.Text.
	Kind rollup.Kind
	// Type is the PV's type at the end of the range. It is Unknown if the PV has no samples.
	Type sample.Type
	// Metadata are those at the end of the range. They are valid if Known is true.
	Metadata sample.Metadata
	Known    bool
	// Labels are the names of the states in the whole range. There are none if they changed in it.
	Labels []string
}

// Values are the values of a PV in the rows of a slab.
type Values struct {
	// Has says in which rows the PV has a value.
	Has []bool
	// Numbers has the values of numbers and states, and Texts those of texts.
	Numbers []float64
	Texts   []string
	// States is true if the numbers are states of an enumeration.
	States bool

	rows int // number of rows that are filled
}

// Slab is consecutive rows of a table.
type Slab struct {
	Times   []int64
	Columns []Values
}

// Table is a table of many PVs.
type Table struct {
	Columns []Column
	// CompleteUntil is a time in ns since 1970. The samples that engines received before it are
	// in the table. It is query.Latest if no sample is missing.
	CompleteUntil int64
	// Lost is the number of samples that were left out so far, because their blocks are damaged.
	Lost uint64

	reader *query.Reader
	opts   Options
	first  int64 // time of the first row
	rows   int64
	mu     sync.Mutex // guards CompleteUntil and Lost while columns are read
}

// Open returns a table of PVs. It returns a RefusedError if a PV has no values that fit, and
// query.ErrUnknownPV for a PV that was never captured.
func Open(ctx context.Context, r *query.Reader, pvs []string, opts Options) (*Table, error) {
	t := &Table{reader: r, opts: opts, CompleteUntil: query.Latest}
	t.first = rollup.Floor(opts.From+opts.Step-1, opts.Step)
	if last := min(opts.To, opts.Now); last >= t.first {
		t.rows = (last-t.first)/opts.Step + 1
	}
	if cells := t.rows * int64(len(pvs)); t.rows > MaxRows || cells > MaxCells {
		return nil, fmt.Errorf("%w: it would have %d rows of %d PVs, and may have %d rows and %d values; choose a longer step or a shorter range",
			ErrTooLarge, t.rows, len(pvs), MaxRows, MaxCells)
	}
	err := query.InOrder(ctx, pvs, t.column, func(_ string, c Column) error {
		t.Columns = append(t.Columns, c)
		return c.check(opts.Fill)
	})
	return t, err
}

// column describes the column of a PV.
func (t *Table) column(ctx context.Context, pv string) (c Column, err error) {
	c.PV = pv
	last, err := t.reader.LastAt(ctx, pv, t.opts.To)
	if err != nil {
		return c, fmt.Errorf("reading %s: %w", pv, err)
	}
	t.note(last.CompleteUntil, 0)
	if c.Metadata, c.Known, err = t.reader.Metadata(ctx, pv, t.opts.To); err != nil {
		return c, fmt.Errorf("reading the metadata of %s: %w", pv, err)
	}
	if last.Run != nil {
		c.Type = last.Run.Type
	} else if c.Type, err = t.reader.Type(ctx, pv); err != nil {
		return c, fmt.Errorf("reading the type of %s: %w", pv, err)
	}
	c.Kind = rollup.KindOf(c.Type)
	if c.Type == sample.Unknown {
		c.Kind = rollup.Number // the column has no values
	}
	if c.Kind == rollup.Choice && c.Known {
		c.Labels, err = t.labels(ctx, &c)
	}
	return c, err
}

// labels returns the names of the states of a PV, or none if they changed in the range.
func (t *Table) labels(ctx context.Context, c *Column) ([]string, error) {
	for m, err := range t.reader.MetadataHistory(ctx, c.PV, t.opts.From, t.opts.To) {
		if err != nil {
			return nil, fmt.Errorf("reading the metadata of %s: %w", c.PV, err)
		}
		if !slices.Equal(m.Labels, c.Metadata.Labels) {
			return nil, nil
		}
	}
	return c.Metadata.Labels, nil
}

func (c *Column) check(f Fill) error {
	switch {
	case c.Kind == rollup.Other:
		return RefusedError{fmt.Sprintf("%s has values of type %s, which cannot be aligned; numbers, enumerations and strings can", c.PV, c.Type)}
	case f != Last && c.Kind != rollup.Number:
		return RefusedError{fmt.Sprintf("%s has values of type %s; %s needs numbers, use %s", c.PV, c.Type, f, Last)}
	}
	return nil
}

// note notes what a read says about its completeness.
func (t *Table) note(until int64, lost uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.CompleteUntil = min(t.CompleteUntil, until)
	t.Lost += lost
}

// Rows returns the number of rows.
func (t *Table) Rows() int64 { return t.rows }

// All yields the rows by time. A slab is valid until the next one is requested. The sequence ends
// after its first error.
func (t *Table) All(ctx context.Context) iter.Seq2[*Slab, error] {
	return func(yield func(*Slab, error) bool) {
		for done := int64(0); done < t.rows; {
			s, err := t.slab(ctx, done)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(s, nil) {
				return
			}
			done += int64(len(s.Times))
		}
	}
}

// slab reads the rows from the given one on.
func (t *Table) slab(ctx context.Context, from int64) (*Slab, error) {
	n := min(t.rows-from, max(1, slabCells/int64(len(t.Columns))))
	times := make([]int64, n)
	for i := range times {
		times[i] = t.first + (from+int64(i))*t.opts.Step
	}
	s := &Slab{}
	names, index := make([]string, len(t.Columns)), map[string]int{}
	for i, c := range t.Columns {
		names[i], index[c.PV] = c.PV, i
	}
	rows := len(times)
	err := query.InOrder(ctx, names, func(ctx context.Context, pv string) (Values, error) {
		v, err := t.read(ctx, &t.Columns[index[pv]], times)
		if err != nil {
			return v, fmt.Errorf("reading %s: %w", pv, err)
		}
		return v, nil
	}, func(_ string, v Values) error {
		s.Columns = append(s.Columns, v)
		rows = min(rows, v.rows)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Times = times[:rows]
	for i := range s.Columns {
		s.Columns[i].cut(rows)
	}
	return s, nil
}

// textBudget returns the number of bytes of texts in a column of a slab.
func (t *Table) textBudget() int {
	n := 0
	for i := range t.Columns {
		if t.Columns[i].Kind == rollup.Text {
			n++
		}
	}
	return slabText / max(n, 1)
}

func newValues(c *Column, n int) Values {
	v := Values{Has: make([]bool, n), States: c.Kind == rollup.Choice, rows: n}
	if c.Kind == rollup.Text {
		v.Texts = make([]string, n)
	} else {
		v.Numbers = make([]float64, n)
	}
	return v
}

func (v *Values) cut(rows int) {
	v.Has = v.Has[:rows]
	if v.Texts != nil {
		v.Texts = v.Texts[:rows]
	} else {
		v.Numbers = v.Numbers[:rows]
	}
}

// read reads the values of a column.
func (t *Table) read(ctx context.Context, c *Column, times []int64) (v Values, err error) {
	var lost query.Losses
	switch t.opts.Fill {
	case Mean:
		v, err = t.mean(ctx, c, times, &lost)
	case Linear:
		v, err = t.linear(ctx, c, times, &lost)
	default:
		v, err = t.last(ctx, c, times, &lost)
	}
	t.note(query.Latest, lost.Count())
	return v, err
}
