package csvfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/pvname"
)

// scanner finds the PVs of a file that has a column for them.
type scanner struct {
	*Source
	path    string
	columns layout
	want    func(string) bool

	parts   map[string]*part // by canonical name; nil if the PV is not wanted
	last    []byte           // the cell of the row before
	current *part            // of the row before
	cells   [][]byte
	bad     int   // number of rows without a PV
	badLine int   // the first of them
	reason  error // of the first of them
}

// scan adds the PVs of a file. It fails only if ctx ends, or if there are too many PVs.
func (s *Source) scan(ctx context.Context, path string, l *lines, columns layout, want func(string) bool) error {
	c := &scanner{Source: s, path: path, columns: columns, want: want, parts: map[string]*part{}}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		start, before := l.offset, l.number
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, errLong) && !errors.Is(err, errOpenEnd) {
			s.skip(path, err)
			return nil
		}
		if err == nil {
			err = c.row(line, start, l.offset, before)
		}
		if err != nil {
			c.note(l.number, err)
		}
		if len(c.parts) > maxPVs {
			return s.bounded()
		}
	}
	c.finish(l.offset)
	return s.bounded()
}

// row notes where a row is.
func (c *scanner) row(line []byte, start, end int64, before int) (err error) {
	if blank(line) {
		return nil
	}
	if c.cells, err = split(c.cells[:0], line, c.format.Separator); err != nil {
		return err
	}
	if len(c.cells) <= c.columns.at[columnPV] {
		return errors.New("the row has no cell for the name of the PV")
	}
	cell := c.cells[c.columns.at[columnPV]]
	if !bytes.Equal(cell, c.last) || c.last == nil {
		if err := c.find(cell, start, before); err != nil {
			return err
		}
	}
	if c.current != nil {
		c.current.end = end
	}
	return nil
}

// find finds the part of a PV, or adds it.
func (c *scanner) find(cell []byte, start int64, before int) error {
	pv := pvname.Canonical(string(bytes.TrimSpace(cell)))
	if err := pvname.Check(pv); err != nil {
		return fmt.Errorf("the row has no name of a PV: %w", err)
	}
	p, known := c.parts[pv]
	if !known {
		if c.want(pv) {
			p = &part{path: c.path, layout: c.columns, pv: pv, start: start, line: before}
		}
		c.parts[pv] = p
	}
	c.last, c.current = append(c.last[:0], cell...), p
	return nil
}

// note counts a row without a PV.
func (c *scanner) note(line int, err error) {
	if c.bad++; c.bad == 1 {
		c.badLine, c.reason = line, err
	}
}

// finish adds the PVs to the source, unless the rows of too many PVs are mixed.
func (c *scanner) finish(size int64) {
	if c.bad > 0 {
		more := ""
		if c.bad > 1 {
			more = fmt.Sprintf("; %d more rows have no PV either", c.bad-1)
		}
		c.Skipped = append(c.Skipped, migration.Skipped{Path: fmt.Sprintf("%s:%d", c.path, c.badLine), Reason: c.reason.Error() + more})
	}
	read := int64(0)
	for _, p := range c.parts {
		if p != nil {
			read += p.cost()
		}
	}
	if read > maxRereads*max(size, 1<<20) {
		c.skip(c.path, fmt.Errorf("the rows of many PVs are mixed, so that the file would be read more than %d times: unpack it, sort its rows by PV, or import few PVs at a time", maxRereads))
		return
	}
	for pv, p := range c.parts {
		if p != nil {
			c.add(pv, *p, p.end-p.start)
		}
	}
}

// cost returns how many bytes are read to read a part. A compressed file is read from its beginning.
func (p *part) cost() int64 {
	if isCompressed(p.path) {
		return p.end
	}
	return p.end - p.start
}

func isCompressed(path string) bool { return len(path) > 3 && path[len(path)-3:] == ".gz" }
