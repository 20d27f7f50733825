package query

import (
	"iter"
	"math"
	"sort"

	"varve.dev/varve/engine/sample"
)

// unite yields the samples of two archives, sorted by time. If both have a sample, unite yields it once. Both
// sequences are sorted by time, and may begin with the last sample before from. unite yields the later one of
// these two first, unless there is a sample at from, or inside is true.
//
// Of several samples with one time, those of the other archive come first, because it is the older one.
func unite(own, other iter.Seq2[*sample.Run, error], from int64, inside bool, yield func(*sample.Run, error) bool) {
	u := union{from: from, inside: inside, yield: yield}
	for i, all := range []iter.Seq2[*sample.Run, error]{own, other} {
		next, stop := iter.Pull2(all)
		defer stop()
		u.sides[i].next = next
		if err := u.sides[i].load(); err != nil {
			yield(nil, err)
			return
		}
	}
	if more, err := u.run(); err != nil {
		yield(nil, err)
	} else if more {
		u.passBefore()
	}
}

// side is one of the archives: a position in its samples.
type side struct {
	next func() (*sample.Run, error, bool)
	run  *sample.Run // nil at the end
	i    int
}

// load requests the next run.
func (s *side) load() error {
	run, err, more := s.next()
	s.run, s.i = nil, 0
	if err == nil && more {
		s.run = run
	}
	return err
}

// at returns the time of the current sample, or math.MaxInt64 at the end.
func (s *side) at() int64 {
	if s.run == nil {
		return math.MaxInt64
	}
	return s.run.Times[s.i]
}

// until returns the index of the first sample of the run with a time of at least t.
func (s *side) until(t int64) int {
	return s.i + sort.Search(s.run.Len()-s.i, func(k int) bool { return s.run.Times[s.i+k] >= t })
}

// moveTo moves to sample j of the run, or to the next run.
func (s *side) moveTo(j int) error {
	if s.i = j; j < s.run.Len() {
		return nil
	}
	return s.load()
}

// union merges two archives.
type union struct {
	from   int64
	inside bool
	yield  func(*sample.Run, error) bool
	sides  [2]side    // this archive, the other one
	before sample.Run // the last sample before from, until it is yielded
	part   sample.Run // to yield
}

// run yields all samples at or after from. It returns false if the consumer has stopped.
func (u *union) run() (more bool, err error) {
	own, other := &u.sides[0], &u.sides[1]
	for own.run != nil || other.run != nil {
		a, b := own.at(), other.at()
		switch {
		case a == b && a >= u.from:
			more, err = u.both(a)
		case a <= b: // before from, the sample of this archive replaces an equal one
			if a == b {
				if err := other.moveTo(other.until(b + 1)); err != nil {
					return false, err
				}
				b = other.at()
			}
			more, err = u.alone(own, b)
		default:
			more, err = u.alone(other, a)
		}
		if err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// alone yields the samples of the current run of one archive with times before a time of the other one.
func (u *union) alone(s *side, end int64) (more bool, err error) {
	j := s.until(end)
	if in := min(j, s.until(u.from)); in > s.i {
		u.before.Reset(s.run.Type)
		u.before.AppendRange(s.run, in-1, in)
		s.i = in
	}
	if more = u.pass(s.run, s.i, j); !more {
		return false, nil
	}
	return true, s.moveTo(j)
}

// pass yields samples i to j (exclusive) of a run.
func (u *union) pass(r *sample.Run, i, j int) bool {
	if i == j {
		return true
	}
	if r.Times[i] > u.from && !u.passBefore() {
		return false
	}
	u.before.Reset(sample.Unknown)
	if i == 0 && j == r.Len() {
		return u.yield(r, nil)
	}
	r.Part(&u.part, i, j)
	return u.yield(&u.part, nil)
}

// passBefore yields the last sample before the range, unless it was yielded before.
func (u *union) passBefore() bool {
	if u.before.Len() == 0 || u.inside {
		return true
	}
	more := u.yield(&u.before, nil)
	u.before.Reset(sample.Unknown)
	return more
}

// maxGroup is how many samples of one time are compared with those of the other archive. If there are more, some
// of them may be yielded twice.
const maxGroup = 1024

// both yields the samples of a time that both archives have.
func (u *union) both(at int64) (more bool, err error) {
	var groups [2][]*sample.Run // of one sample each
	for k := range u.sides {
		if groups[k], err = u.sides[k].group(at); err != nil {
			return false, err
		}
	}
	for _, theirs := range groups[1] {
		if !hasSample(groups[0], theirs) && !u.pass(theirs, 0, 1) {
			return false, nil
		}
	}
	for _, ours := range groups[0] {
		if !u.pass(ours, 0, 1) {
			return false, nil
		}
	}
	return true, nil
}

// group returns copies of the samples of a time, at most maxGroup, and moves behind them.
func (s *side) group(at int64) (all []*sample.Run, err error) {
	for s.run != nil && s.at() == at && len(all) < maxGroup {
		one := &sample.Run{Type: s.run.Type}
		one.AppendRange(s.run, s.i, s.i+1)
		all = append(all, one)
		if err := s.moveTo(s.i + 1); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// hasSample reports whether one of the runs has the same sample. Flags do not count: the other archive has none.
func hasSample(runs []*sample.Run, one *sample.Run) bool {
	s := one.At(0)
	for _, r := range runs {
		has := r.At(0)
		alarm := has.Tag.SameAlarm(s.Tag)
		has.Tag = s.Tag
		if alarm && (r.Type == one.Type && has.Same(&s) || r.Type != one.Type && widened(r, one)) {
			return true
		}
	}
	return false
}
