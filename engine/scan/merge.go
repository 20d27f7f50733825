package scan

import (
	"iter"
	"math"
	"slices"
	"sort"

	"varve.dev/varve/engine/sample"
)

// merger merges sources by time and removes duplicates. It decodes only the sources that
// overlap at one time:
//
//	sources, by start ──▶ ahead ──▶ active: those that overlap ──▶ emit
//
// Where sources do not overlap, the merger passes on whole segments of samples, not one sample
// at a time.
type merger struct {
	from, to int64 // samples outside of these times are left out
	// emit receives samples i to j (exclusive) of a run, in order of time. The samples are
	// valid until emit returns. emit reports whether to continue.
	emit func(r *sample.Run, i, j int) bool
	// leaveOut is Scan.leaveOut, and reuse is Scan.Reuse.
	leaveOut func(error) error
	reuse    bool
	// lastBlock is the block that lookBack has decoded.
	lastBlock decoded

	ahead  *source // the next source, or nil
	active []*source
	idle   []*sample.Run // memory of exhausted sources, for reuse
	tied   []tie
}

// tie is one of several samples with the same time.
type tie struct {
	run *sample.Run
	i   int
}

// run merges sources, which are sorted by start.
func (m *merger) run(sources iter.Seq2[*source, error]) error {
	defer m.giveBack()
	next, stop := iter.Pull2(sources)
	defer stop()
	pull := func() (err error) {
		m.ahead, err, _ = next()
		return err
	}
	if err := pull(); err != nil {
		return err
	}
	for {
		t, rest := m.earliest()
		for m.ahead != nil && m.ahead.start <= t {
			if err := m.activate(); err != nil {
				return err
			}
			if err := pull(); err != nil {
				return err
			}
			t, rest = m.earliest()
		}
		if len(m.active) == 0 || !m.step(t, rest) {
			return nil
		}
	}
}

// earliest returns the time of the next sample, and the earliest time of any other source,
// active or ahead. If no source is active, first is the greatest time.
func (m *merger) earliest() (first, rest int64) {
	first, rest = math.MaxInt64, math.MaxInt64
	for _, s := range m.active {
		if t := s.time(); t < first {
			first, rest = t, first
		} else {
			rest = min(rest, t)
		}
	}
	if m.ahead != nil {
		rest = min(rest, m.ahead.start)
	}
	return first, rest
}

// activate adds the source in ahead to the active sources, unless it has no sample in the
// range.
func (m *merger) activate() error {
	s := m.ahead
	if s.run == nil && m.lastBlock.holds(s.blk) {
		s.run, s.own, s.blk = m.lastBlock.run, true, nil
		m.lastBlock = decoded{}
	}
	if s.run == nil {
		memory := m.memory()
		if err := s.decode(memory); err != nil {
			m.idle = append(m.idle, memory)
			return m.leaveOut(err)
		}
	}
	for s.at < s.run.Len() && s.run.Tags[s.at]&sample.CarriedForward != 0 { // copies of samples in other buckets
		s.at++
	}
	s.at += sort.Search(s.run.Len()-s.at, func(i int) bool { return s.run.Times[s.at+i] >= m.from })
	m.active = append(m.active, s)
	m.release()
	return nil
}

// memory returns a run to decode into.
func (m *merger) memory() *sample.Run {
	n := len(m.idle)
	if n == 0 {
		return takeRun(m.reuse)
	}
	r := m.idle[n-1]
	m.idle = m.idle[:n-1]
	return r
}

// giveBack gives the memory of all decoded blocks to later scans, if they may reuse it.
func (m *merger) giveBack() {
	if !m.reuse {
		return
	}
	for _, s := range m.active {
		if s.own {
			m.idle = append(m.idle, s.run)
		}
	}
	for _, r := range m.idle {
		giveRun(r)
	}
	m.idle, m.active = nil, nil
}

// release removes exhausted sources.
func (m *merger) release() {
	m.active = slices.DeleteFunc(m.active, func(s *source) bool {
		if s.at < s.run.Len() {
			return false
		}
		if s.own {
			m.idle = append(m.idle, s.run)
		}
		return true
	})
}

// step emits the samples at time t. If only one source has samples before rest, it emits
// all of these. It reports whether to continue.
func (m *merger) step(t, rest int64) (more bool) {
	if t > m.to {
		return false
	}
	if rest > t {
		i := slices.IndexFunc(m.active, func(s *source) bool { return s.time() == t })
		s := m.active[i]
		end := s.run.Len()
		if s.run.Times[end-1] >= rest {
			end = s.at + sort.Search(end-s.at, func(k int) bool { return s.run.Times[s.at+k] >= rest })
		}
		more = m.emit(s.run, s.at, end)
		s.at = end
	} else {
		more = m.ties(t)
	}
	m.release()
	return more
}

// ties emits the samples of all active sources at time t, each once.
func (m *merger) ties(t int64) bool {
	m.tied = m.tied[:0]
	for _, s := range m.active {
		for ; s.at < s.run.Len() && s.time() == t; s.at++ {
			if !slices.ContainsFunc(m.tied, func(o tie) bool { return o.same(s.run, s.at) }) {
				m.tied = append(m.tied, tie{s.run, s.at})
			}
		}
	}
	for _, o := range m.tied {
		if !m.emit(o.run, o.i, o.i+1) {
			return false
		}
	}
	return true
}

func (o tie) same(r *sample.Run, i int) bool {
	if o.run.Type != r.Type {
		return false
	}
	a, b := o.run.At(o.i), r.At(i)
	return a.Same(&b)
}
