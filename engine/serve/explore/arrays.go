package explore

import (
	"context"
	"math"
	"net/http"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/stream"
)

const (
	// maxColumns and maxCells are for the parameters points and cells.
	defaultColumns, maxColumns = 400, 1000
	defaultCells, maxCells     = 256, 512
	// maxArrayBytes is how many bytes of arrays a request reads, apart from those in its last block.
	maxArrayBytes = 512 << 20
	// skipsAfter is the part of these bytes after which a reader skips to the next interval.
	skipsAfter = 512
	// arrayTime is how long a request reads.
	arrayTime = 10 * time.Second
)

// arraysQuery is a request for the arrays of a PV.
type arraysQuery struct {
	pv       string
	from, to int64 // in ns since 1970
	width    int64 // of an interval, in ns
	cells    int   // of a column, at most
	bytes    int64 // to read, at most
	time     time.Duration
}

// arrays answers arrays of a PV over time, reduced to what a heat map draws.
func (h *Handler) arrays(w http.ResponseWriter, r *http.Request, p *openapi.Query) {
	s, leave := h.admit(w, r, p)
	if leave == nil {
		return
	}
	defer leave()
	q := &arraysQuery{
		pv: s.pvs[0], from: s.from, to: s.to, width: gridWidth(s.from, s.to, p.Int("points")), cells: p.Int("cells"), bytes: maxArrayBytes, time: arrayTime,
	}
	binary := p.Get("format") == "binary"
	contentType := "application/json"
	if binary {
		contentType = binaryType
	}
	a := stream.New(w, contentType)
	w.Header().Set("Cache-Control", "no-store")
	m, err := h.readArrays(r.Context(), q)
	if err != nil {
		h.finish(w, r, a, h.explain(r.Context(), q.pv, err))
		return
	}
	if m.until < q.to {
		m.CompleteUntil = stream.Until(m.until)
		a.SetCompleteUntil(m.until)
	}
	a.SetLost(m.Lost)
	if binary {
		a.Buf = m.appendFrame(a.Buf)
	} else {
		a.Buf = m.appendJSON(a.Buf)
	}
	h.finish(w, r, a, a.FlushFull())
}

// readArrays reads the first array of each interval of the range, and the last one before the range:
//
//	pass: read on ──▶ arrays are small: all of the range
//	  ▲        └────▶ arrays are large: skip to the next interval, or to a later one if the request
//	  └───────────────────────────────  could not read an array of each interval
func (h *Handler) readArrays(ctx context.Context, q *arraysQuery) (*matrix, error) {
	short, cancel := context.WithTimeout(ctx, q.time)
	defer cancel()
	m := newMatrix(q)
	reader := &arrayReader{reader: h.reader, query: q, matrix: m, next: math.MinInt64}
	window := q.to - q.from
	for at := q.from; at <= q.to; {
		end := q.to
		if window < q.to-at {
			end = at + window
		}
		skipped, err := reader.pass(short, at, end)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case short.Err() == nil && err != nil:
			return nil, err
		case err == nil && (reader.next > q.to || !skipped && end == q.to): // all is read
			at = math.MaxInt64
		case err != nil, reader.spent >= q.bytes:
			m.LeftOutFrom = clock(max(at, reader.next))
			at = math.MaxInt64
		case skipped:
			reader.visited += reader.next - at
			at = reader.skip()
			window = q.width
		default: // the window has no array
			reader.visited += end - at
			at, window = end+1, 2*window
		}
	}
	m.Lost = reader.lost.Count()
	meta, found, err := h.reader.Metadata(ctx, q.pv, q.to)
	if found {
		m.Metadata = newMetadata(&meta)
	}
	return m, err
}

// arrayReader reads the arrays of a request.
type arrayReader struct {
	reader *query.Reader
	query  *arraysQuery
	matrix *matrix
	// next is the start of the next interval from which an array is taken, in ns since 1970.
	next    int64
	spent   int64 // bytes that were read
	visited int64 // length of the part of the range that was searched for arrays, in ns
	lost    query.Losses
}

// pass reads from at to end, in ns since 1970. It returns true if it ended early, because the rest before
// the next interval takes too long to read.
func (r *arrayReader) pass(ctx context.Context, at, end int64) (skipped bool, err error) {
	read, err := r.reader.Read(ctx, r.query.pv, at, end, query.Options{Inside: at != r.query.from, Lost: &r.lost})
	if err != nil {
		return false, err
	}
	r.matrix.until = min(r.matrix.until, read.CompleteUntil)
	passed := int64(0)
	for run, err := range read.All {
		if err != nil {
			return false, err
		}
		r.addRun(run)
		r.spent += int64(run.Size())
		passed += int64(run.Size())
		if r.next > r.query.to || r.spent >= r.query.bytes || passed >= r.query.bytes/skipsAfter && r.next > at {
			return true, nil
		}
	}
	return false, nil
}

// addRun takes the first array of each interval.
func (r *arrayReader) addRun(run *sample.Run) {
	for i, t := range run.Times {
		if t < r.next {
			continue
		}
		r.matrix.add(run, i)
		r.next = max(r.query.from, start(t, r.query.width)+r.query.width)
	}
}

// skip returns where to read on, in ns since 1970: at the next interval, or at a later one, so that the bytes
// suffice if the rest of the range has as many bytes per second as the part that was read.
func (r *arrayReader) skip() int64 {
	rest, left := float64(r.query.to-r.next), float64(max(1, r.query.bytes-r.spent))
	step := int64(min(math.MaxInt32, math.Ceil(float64(r.spent)*rest/float64(max(1, r.visited))/left)))
	if step > 1 {
		r.matrix.Thinned = true
		r.next += min(step-1, (r.query.to-r.next)/r.query.width) * r.query.width
	}
	return r.next
}

// start returns the start of the interval of a time.
func start(t, width int64) int64 {
	rest := t % width
	if rest < 0 {
		rest += width
	}
	return t - rest
}
