package query

import (
	"context"
	"sync"
	"time"

	"varve.dev/varve/engine/sample"
)

// Last is the last sample of a PV at or before a time.
type Last struct {
	// Run has the sample. It is nil if there is none, or if a damaged block may have held it.
	Run *sample.Run
	// CompleteUntil is a time in ns since 1970. The sample is the last of those that engines
	// received before it. It is Latest if no sample is missing.
	CompleteUntil int64
	// Lost is the number of samples in damaged blocks that were read.
	Lost uint64
}

// LastAt returns the last sample of a PV at or before a time, in ns since 1970. For a PV that was
// never captured, LastAt returns ErrUnknownPV.
func (r *Reader) LastAt(ctx context.Context, pv string, at int64) (last Last, err error) {
	var lost Losses
	read, err := r.Read(ctx, pv, at, at, Options{Lost: &lost, reuse: true})
	if err != nil {
		return last, err
	}
	last.CompleteUntil = read.CompleteUntil
	for run, err := range read.All {
		if err != nil {
			return last, err
		}
		s := run.At(run.Len() - 1)
		last.Run = &sample.Run{Type: run.Type}
		last.Run.Append(&s)
	}
	last.Lost = lost.Count()
	return last, nil
}

// Steps in which FirstFrom searches.
const (
	firstStep = int64(time.Second)
	stepGrows = 64
	lastStep  = firstStep * stepGrows * stepGrows * stepGrows * stepGrows // half a year
)

// FirstFrom returns the first sample of a PV at or after a time, in ns since 1970, or nil if there
// is none. lost is as in Options. FirstFrom searches in growing steps up to the present. So it
// rarely reads more than it needs, and the newest samples, which an engine may be unable to send,
// matter only if they can contain the sample.
func (r *Reader) FirstFrom(ctx context.Context, pv string, at int64, lost *Losses) (*sample.Run, error) {
	now := r.now()
	for step := firstStep; ; step *= stepGrows {
		to := at + step
		if to >= now || step > lastStep {
			to = Latest
		}
		read, err := r.Read(ctx, pv, at, to, Options{Inside: true, Lost: lost})
		if err != nil {
			return nil, err
		}
		for run, err := range read.All {
			if err != nil {
				return nil, err
			}
			var one sample.Run
			run.Part(&one, 0, 1)
			return one.Clone(), nil
		}
		if to == Latest {
			return nil, nil
		}
		at = to + 1
	}
}

// now returns the current time in ns since 1970.
func (r *Reader) now() int64 {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now().UnixNano()
}

// parallel is how many PVs a request reads at a time.
const parallel = 16

// InOrder calls read for several names at a time, and use for each result, in the order of the
// names. It returns the first error.
func InOrder[T any](ctx context.Context, names []string, read func(ctx context.Context, name string) (T, error), use func(name string, v T) error) error {
	type result struct {
		v   T
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	ahead := make([]chan result, 0, len(names))
	start := func() {
		if i := len(ahead); i < len(names) {
			c := make(chan result, 1)
			ahead = append(ahead, c)
			readers.Go(func() {
				v, err := read(ctx, names[i])
				c <- result{v, err}
			})
		}
	}
	for range parallel {
		start()
	}
	for i, name := range names {
		r := <-ahead[i]
		if r.err != nil {
			return r.err
		}
		if err := use(name, r.v); err != nil {
			return err
		}
		ahead[i] = nil
		start()
	}
	return nil
}
