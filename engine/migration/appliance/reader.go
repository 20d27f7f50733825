package appliance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"time"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/upstream"
)

// reader reads one PV.
type reader struct {
	*Source
	pv      string
	to      migration.Sink
	next    int64 // samples before this time were passed to the sink, in ns since 1970
	seen    int64 // time of the latest sample that was passed, or MinInt64
	pending pending
	refused int // number of ranges in a row that were refused
}

// errSilent is the error of a PV for which the server did not answer.
var errSilent = errors.New("the server does not answer")

// read reads a range: from since up to, not including, until.
func (r *reader) read(ctx context.Context, since, until int64) error {
	if now := r.now().Add(time.Minute).UnixNano(); until > now { // samples may be a little ahead of this clock
		until = now
	}
	if until <= since {
		return nil
	}
	r.next = since
	var first int64
	found := false
	err := r.try(ctx, func() (err error) {
		first, found, err = r.first(ctx, since, until-1)
		return err
	})
	if err != nil {
		return r.fail(ctx, until, err)
	}
	if !found {
		return nil
	}
	r.next = first
	for months := 1; r.next < until; {
		end := min(monthsAfter(r.next, months), until)
		count, err := r.readRange(ctx, end)
		if err != nil {
			return err
		}
		months = widen(months, count)
	}
	return nil
}

// Bounds of the ranges of requests.
const (
	maxMonths = 12
	// sparse is the number of samples per request below which the next range is twice as long.
	sparse = 10_000
)

// widen returns the number of months of the next range.
func widen(months, samples int) int {
	if samples < sparse {
		return min(2*months, maxMonths)
	}
	return 1
}

// monthsAfter returns the beginning of a month in UTC: the n-th after a time in ns since 1970.
func monthsAfter(ns int64, n int) int64 {
	at := time.Unix(0, ns).UTC()
	return time.Date(at.Year(), at.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC).UnixNano()
}

// first returns the time of the first sample in a range. An answer that was cut before its first sample is refused, because it
// looks like that of a PV without samples.
func (r *reader) first(ctx context.Context, from, to int64) (at int64, found bool, err error) {
	for run, err := range r.opts.Archive.Exact(ctx, r.pv, upstream.Range{From: from, To: to, After: from}) {
		if err != nil {
			return 0, false, err
		}
		return run.Times[0], true, nil
	}
	return 0, false, nil
}

// readRange reads up to, not including, end. It returns how many samples it passed on. A refused range becomes a
// problem.
func (r *reader) readRange(ctx context.Context, end int64) (count int, err error) {
	var failed error // of the sink
	err = r.try(ctx, func() error {
		n, ended, err := r.request(ctx, end)
		count += n
		failed = ended
		return err
	})
	switch {
	case failed != nil:
		return count, failed
	case err != nil:
		if err := r.fail(ctx, end, err); err != nil {
			return count, err
		}
		r.seen = math.MinInt64 // the server may send the last sample of this range with the next one
	default:
		r.refused = 0
	}
	r.next = end
	return count, nil
}

// request sends one request for the samples from next up to, not including, end. failed is the error of the sink,
// which ends the reading; err is that of the answer.
func (r *reader) request(ctx context.Context, end int64) (count int, failed, err error) {
	after := r.seen
	if after == math.MinInt64 {
		after = r.next
	}
	r.pending.reset()
	for run, err := range r.opts.Archive.Exact(ctx, r.pv, upstream.Range{From: r.next, To: end - 1, After: after, Change: r.change}) {
		if err != nil {
			n, failed := r.flush(ctx, false)
			return count + n, failed, err
		}
		r.pending.add(run)
		if r.pending.full() {
			n, failed := r.flush(ctx, false)
			if count += n; failed != nil {
				return count, failed, nil
			}
		}
	}
	n, failed := r.flush(ctx, true)
	return count + n, failed, nil
}

// flush passes on the pending samples. Unless the range has ended, it keeps those of the latest time, because more of
// that time may follow, and another try must not pass on a sample again.
func (r *reader) flush(ctx context.Context, all bool) (count int, err error) {
	before := r.pending.latest()
	if all {
		before = math.MaxInt64
	}
	for _, run := range r.pending.take(before) {
		r.seen = max(r.seen, run.Times[run.Len()-1])
		count += run.Len()
		if err := r.to.Samples(ctx, run); err != nil {
			return count, err
		}
	}
	if !all && before != math.MaxInt64 {
		r.next = max(r.next, before)
	}
	return count, ctx.Err()
}

func (r *reader) change(c pbfile.Change) { migration.ConnectionMarks(&c, r.to) }

// try calls a function again after an error that may go away.
func (r *reader) try(ctx context.Context, do func() error) error {
	wait := r.opts.Pause
	for n := 1; ; n++ {
		err := do()
		if err == nil || ctx.Err() != nil || n >= triesAfter(err) || !wait.Wait(ctx) {
			return err
		}
	}
}

// triesAfter returns how often a request is sent that fails with an error.
func triesAfter(err error) int {
	switch {
	case errors.Is(err, upstream.ErrUnknownPV), errors.Is(err, upstream.ErrCredentials), refusedByServer(err):
		return 1
	case noAnswer(err):
		return tries
	}
	return refusedTries
}

// refusedByServer reports whether the server answered that it does not allow, or does not understand, the request.
func refusedByServer(err error) bool {
	status, ok := errors.AsType[*upstream.StatusError](err)
	return ok && status.Code >= 400 && status.Code < 500 && status.Code != http.StatusTooManyRequests && status.Code != http.StatusRequestTimeout
}

// noAnswer reports whether an error means that there was no whole answer.
func noAnswer(err error) bool {
	if _, ok := errors.AsType[*upstream.StatusError](err); ok {
		return true
	}
	var network net.Error
	return errors.Is(err, upstream.ErrSilent) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, &network)
}

// fail reports that the samples from next up to, not including, end were not imported: as a problem if the answer was
// refused, or as an error if the rest of the PV cannot be read either.
func (r *reader) fail(ctx context.Context, end int64, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch {
	case errors.Is(err, upstream.ErrUnknownPV):
	case errors.Is(err, upstream.ErrCredentials), refusedByServer(err):
		return fmt.Errorf("samples from %s on were not imported: %w", instant(r.next), err)
	case noAnswer(err):
		return fmt.Errorf("samples from %s on were not imported: %w: %w", instant(r.next), errSilent, err)
	default:
		if r.refused++; r.refused >= maxRefused {
			return fmt.Errorf("samples from %s on were not imported, because %d answers in a row were refused: %w", instant(r.next), r.refused, err)
		}
	}
	r.to.Problem(fmt.Sprintf("%s from %s to %s", r.pv, instant(r.next), instant(end)), 0, fmt.Errorf("not imported: %w", err))
	return nil
}

func instant(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
