package predicate

import (
	"context"
	"iter"
	"sort"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// parts is the number of parts of the range of a search. A read of selected samples ends one part
// after the interval for which it began, so that it can serve the next intervals too.
const parts = 256

// Durations are how long the predicate had each result, in ns.
type Durations struct{ True, False, Unknown int64 }

// Add adds an interval.
func (d *Durations) Add(i Interval) {
	n := i.To - i.From
	switch i.State {
	case True:
		d.True += n
	case False:
		d.False += n
	default:
		d.Unknown += n
	}
}

// Samples yields the samples of a PV in the range at whose times the predicate is true. lost is as
// in query.Options. It adds all intervals to d. A yielded run is valid until the next one is
// requested. The sequence ends after its first error. It can be used only once.
func (s *Search) Samples(ctx context.Context, pv string, lost *query.Losses, d *Durations) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		f := filter{search: s, ctx: ctx, pv: pv, lost: lost, yield: yield}
		defer f.close()
		for i, err := range s.Intervals(ctx) {
			if err == nil {
				d.Add(i)
				if i.State == True {
					err = f.pass(i)
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if f.ended {
				return
			}
		}
	}
}

// filter passes on the samples of a PV in intervals.
type filter struct {
	search *Search
	ctx    context.Context
	pv     string
	lost   *query.Losses
	yield  func(*sample.Run, error) bool
	ended  bool

	next func() (*sample.Run, error, bool) // nil: there is no read
	stop func()
	run  *sample.Run
	i    int   // of the next sample of run
	to   int64 // the last time of the read
	part sample.Run
}

// pass passes on the samples of an interval.
func (f *filter) pass(i Interval) error {
	if f.next == nil || i.To-1 > f.to {
		f.close()
		f.to = min(f.search.end, i.To+(f.search.end-f.search.from)/parts) - 1
		read, err := f.search.reader.Read(f.ctx, f.pv, i.From, f.to, query.Options{Inside: true, Lost: f.lost})
		if err != nil {
			return err
		}
		f.next, f.stop = iter.Pull2(read.All)
		f.run = nil
	}
	for {
		if f.run == nil || f.i == f.run.Len() {
			run, err, more := f.next()
			if err != nil || !more {
				f.run, f.i = &sample.Run{}, 0
				return err
			}
			f.run, f.i = run, 0
		}
		from := f.i + sort.Search(f.run.Len()-f.i, func(k int) bool { return f.run.Times[f.i+k] >= i.From })
		end := from + sort.Search(f.run.Len()-from, func(k int) bool { return f.run.Times[from+k] >= i.To })
		f.i = end
		if from < end {
			f.run.Part(&f.part, from, end)
			if f.ended = !f.yield(&f.part, nil); f.ended {
				return nil
			}
		}
		if end < f.run.Len() {
			return nil
		}
	}
}

func (f *filter) close() {
	if f.next != nil {
		f.stop()
		f.next = nil
	}
}
