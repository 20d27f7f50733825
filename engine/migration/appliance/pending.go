package appliance

import (
	"math"
	"sort"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/sample"
)

// maxPending is the size in bytes of the samples that are passed on together.
const maxPending = 8 << 20

// pending are samples in order of time that were not passed on yet.
type pending struct {
	runs []*sample.Run
	size int // bytes
	n    int
}

func (p *pending) reset() { *p = pending{} }

// add copies the samples of a run.
func (p *pending) add(run *sample.Run) {
	last := len(p.runs) - 1
	if last < 0 || p.runs[last].Type != run.Type {
		p.runs = append(p.runs, &sample.Run{Type: run.Type})
		last++
	}
	p.runs[last].AppendRange(run, 0, run.Len())
	p.size += run.Size()
	p.n += run.Len()
}

// full reports whether the samples should be passed on.
func (p *pending) full() bool { return p.n >= migration.Batch || p.size >= maxPending }

// latest returns the time of the last sample, or MaxInt64 if there is none.
func (p *pending) latest() int64 {
	if len(p.runs) == 0 {
		return math.MaxInt64
	}
	run := p.runs[len(p.runs)-1]
	return run.Times[run.Len()-1]
}

// take removes the samples before a time.
func (p *pending) take(before int64) (out []*sample.Run) {
	rest := pending{}
	for _, run := range p.runs {
		i := sort.Search(run.Len(), func(i int) bool { return run.Times[i] >= before })
		switch {
		case i == run.Len():
			out = append(out, run)
			continue
		case i > 0:
			head := &sample.Run{Type: run.Type}
			head.AppendRange(run, 0, i)
			out = append(out, head)
		}
		tail := &sample.Run{Type: run.Type}
		tail.AppendRange(run, i, run.Len())
		rest.add(tail)
	}
	*p = rest
	return out
}
