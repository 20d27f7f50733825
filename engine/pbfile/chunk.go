package pbfile

import (
	"errors"
	"io"

	"varve.dev/varve/engine/sample"
)

// ErrNextChunk means that an empty line ends the samples of a header.
var ErrNextChunk = errors.New("the next line is a header")

// ErrNoHeader means that neither a header nor a sample follows an empty line. The type and the year of
// the lines behind it are unknown: the caller calls Skip. Until another header is read, each line is a problem.
var ErrNoHeader = errors.New("neither a header nor a sample follows an empty line")

// errEmpty is the problem of an empty line in the middle of the samples of one header.
var errEmpty = errors.New("the line is empty")

// Next goes on after ErrNextChunk, and returns the header of the samples that follow. If a sample of the
// header before follows, the empty line is damage: Next reports it as a problem, and returns the header
// before. After ErrNoHeader, Next returns an empty header, so no sample behind the damage is read with the
// type of the header before it. Next returns io.EOF if nothing follows.
func (r *Reader) Next() (Header, error) {
	empty := r.offset - 1
	for {
		at := r.offset
		line, err := r.readLine()
		switch {
		case err == nil && len(line) == 0:
			continue
		case err != nil && !errors.Is(err, errLong):
			return r.header, err
		}
		if h, ok := r.asHeader(line, err); ok {
			r.header, r.start = h, h.start()
			return h, nil
		}
		if err == nil && r.header.Type != sample.Unknown {
			if _, err = r.parse(line); err == nil {
				r.report(empty, errEmpty)
				r.unread, r.offset = line, at
				return r.header, nil
			}
		}
		r.report(at, ErrNoHeader)
		r.header, r.start = Header{}, 0
		return r.header, ErrNoHeader
	}
}

// asHeader parses a line that was read with an error as a header. A sample is never taken for one: it
// has no name.
func (r *Reader) asHeader(line []byte, err error) (h Header, ok bool) {
	if err != nil {
		return h, false
	}
	if line, err = r.plain(line); err == nil {
		h, err = parseHeader(line)
	}
	return h, err == nil
}

// Skip counts the lines up to the next empty line, or to the end, as problems, without reading their
// values. It returns ErrNextChunk after an empty line.
func (r *Reader) Skip(reason error) error {
	for {
		at := r.offset
		line, err := r.readLine()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, errLong):
			return err
		case err == nil && len(line) == 0:
			return ErrNextChunk
		}
		r.report(at, reason)
	}
}
