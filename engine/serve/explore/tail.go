package explore

import (
	"context"
	"errors"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

const (
	// overlap is how far before the last sample each read begins, in ns. A sample that arrives
	// later than others, but is not older than this, is found.
	overlap = int64(5e9)
	// maxTail is the maximum number of samples in a read of a PV.
	maxTail = 20_000
)

// errTooMany is returned if there are more new samples than a read may have.
var errTooMany = errors.New("too many samples")

// tail follows one PV:
//
//	read ──▶ samples since a little before the last one ──▶ those that were not sent
//
// Of several samples at one time, it counts how many were sent.
type tail struct {
	pv     string
	cursor cursor
	// sent is how many samples were sent, or are known to the client, at each time since since.
	sent  map[int64]int
	since int64
	begun bool
}

func newTail(pv string, c cursor) *tail {
	return &tail{pv: pv, cursor: c, sent: map[int64]int{}, since: c.Time - overlap}
}

// read returns the new samples.
func (t *tail) read(ctx context.Context, r *query.Reader) (*series, error) {
	out := &series{PV: t.pv, Mode: "samples"}
	from := max(t.since, t.cursor.Time-overlap)
	read, err := r.Read(ctx, t.pv, from, query.Latest, query.Options{Inside: true, Lost: &query.Losses{}})
	if err != nil {
		return nil, err
	}
	seen := map[int64]int{}
	n := 0
	for run, err := range read.All {
		if err != nil {
			return nil, err
		}
		if n += run.Len(); n > maxTail {
			return nil, errTooMany
		}
		t.addNew(out, run, seen)
	}
	t.commit(seen, from)
	return out, nil
}

// addNew adds the samples of a run that were not sent. seen counts samples by time.
func (t *tail) addNew(out *series, run *sample.Run, seen map[int64]int) {
	for i, at := range run.Times {
		seen[at]++
		if seen[at] <= t.known(at) || !t.begun && at < t.cursor.Time {
			continue
		}
		var one sample.Run
		run.Part(&one, i, i+1)
		out.addRun(&one)
	}
}

// known returns how many samples at a time the client has.
func (t *tail) known(at int64) int {
	if !t.begun && at == t.cursor.Time {
		return t.cursor.Count
	}
	return t.sent[at]
}

// commit notes that all samples that were seen are sent. An engine that does not answer hides
// samples that were sent before, so a count never decreases.
func (t *tail) commit(seen map[int64]int, from int64) {
	last := t.cursor
	for at, n := range seen {
		n = max(n, t.known(at))
		t.sent[at] = n
		if at > last.Time || at == last.Time && n > last.Count {
			last = cursor{at, n}
		}
	}
	t.cursor = last
	t.begun = true
	t.since = from
	for at := range t.sent {
		if at < t.cursor.Time-overlap {
			delete(t.sent, at)
		}
	}
}

// skip continues after a time, because the client reads the samples before it in another way.
func (t *tail) skip(now int64) {
	*t = *newTail(t.pv, cursor{Time: max(now, t.cursor.Time)})
}
