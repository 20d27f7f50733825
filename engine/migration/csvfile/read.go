package csvfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/sample"
)

// batchBytes is the size in bytes of the samples that are passed on together.
const batchBytes = 16 << 20

// reader reads the rows of a PV.
type reader struct {
	*Source
	to      migration.Sink
	cells   [][]byte
	runs    map[sample.Type]*sample.Run
	count   int    // of rows since the last batch
	size    int    // of strings and arrays since the last batch, in bytes
	repeats uint64 // rows that repeat a value
	connections
}

// Read implements migration.Source. It passes on rows at all times: the sink leaves out what is not wanted.
func (s *Source) Read(ctx context.Context, pv string, _, _ int64, to migration.Sink) error {
	r := &reader{Source: s, to: to, runs: map[sample.Type]*sample.Run{}, connections: newConnections()}
	if len(s.format.Labels) > 0 {
		m := &sample.Metadata{Labels: s.format.Labels}
		nan := math.NaN()
		m.SetLimits([8]float64{nan, nan, nan, nan, nan, nan, nan, nan})
		to.Metadata(m)
	}
	for _, p := range sorted(s.parts[pv]) {
		if err := r.part(ctx, &p); err != nil {
			return err
		}
		to.Progress(1, p.size)
	}
	if r.repeats > 0 {
		to.Note(fmt.Sprintf("%d rows of the Channel Archiver that only repeat the value before are left out", r.repeats))
	}
	return nil
}

// part reads a part of a file. It fails only if the sink fails, or if ctx ends.
func (r *reader) part(ctx context.Context, p *part) error {
	in, err := openText(p.path)
	if err != nil {
		r.to.Problem(p.path, 0, err)
		return nil
	}
	defer in.Close()
	l, err := r.begin(in, p)
	if err != nil {
		r.to.Problem(p.path, 0, err)
		return nil
	}
	for p.end == 0 || l.offset < p.end {
		line, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return r.flush(ctx)
		case err == nil:
			err = r.row(line, p)
		case !errors.Is(err, errLong) && !errors.Is(err, errOpenEnd): // the disk fails
			r.to.Problem(p.path, 0, err)
			return r.flush(ctx)
		case p.pv != "":
			err = nil // named before
		}
		if err != nil {
			r.to.Problem(fmt.Sprintf("%s:%d", p.path, l.number), 0, err)
		}
		if r.count >= migration.Batch || r.size >= batchBytes {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	return r.flush(ctx)
}

// begin returns the lines of a part.
func (r *reader) begin(in *text, p *part) (*lines, error) {
	switch {
	case p.end == 0:
		l := newLines(in)
		_, err := r.format.readHeader(l)
		return l, err
	case in.compressed():
		if _, err := io.CopyN(io.Discard, in, p.start); err != nil {
			return nil, err
		}
	default:
		if _, err := in.file.Seek(p.start, io.SeekStart); err != nil {
			return nil, err
		}
	}
	l := newLines(in)
	l.offset, l.number = p.start, p.line
	return l, nil
}

// row reads a row, unless it is one of another PV.
func (r *reader) row(line []byte, p *part) (err error) {
	if blank(line) {
		return nil
	}
	if r.cells, err = split(r.cells[:0], line, r.format.Separator); err != nil {
		if p.pv != "" {
			return nil // named before
		}
		return err
	}
	if p.pv != "" {
		at := p.layout.at[columnPV]
		if at >= len(r.cells) || pvname.Canonical(string(bytes.TrimSpace(r.cells[at]))) != p.pv {
			return nil
		}
	}
	row, err := r.format.parseRow(&p.layout, r.cells)
	switch {
	case err != nil:
		return err
	case row.repeat:
		r.repeats++
	case row.state:
		r.mark(row.s.Time, row.kind)
		r.states = append(r.states, row.s.Time)
		r.count++
	default:
		r.append(&row)
	}
	return nil
}

func (r *reader) mark(at int64, kind sample.MarkKind) {
	r.to.Mark(sample.Mark{Time: at, Kind: kind, Text: "imported from text"})
}

func (r *reader) append(row *row) {
	run := r.runs[row.t]
	if run == nil {
		run = &sample.Run{Type: row.t}
		r.runs[row.t] = run
	}
	run.Append(&row.s)
	r.count++
	r.size += len(row.s.Bytes)
}

// flush passes on the samples.
func (r *reader) flush(ctx context.Context) error {
	for _, at := range r.connections.end(r.runs) {
		r.mark(at, sample.Connected)
	}
	for _, run := range r.runs {
		if run.Len() == 0 {
			continue
		}
		if err := r.to.Samples(ctx, run); err != nil {
			return err
		}
	}
	clear(r.runs) // the sink may have changed them
	r.count, r.size = 0, 0
	if err := r.to.Samples(ctx, &sample.Run{}); err != nil { // stores the marks
		return err
	}
	return ctx.Err()
}
