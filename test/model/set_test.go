package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// point is a sample in the model. Two points are equal if and only if their samples are equal.
type point struct {
	typ   sample.Type
	time  int64
	tag   sample.Tag
	word  uint64
	bytes string
}

func pointOf(r *sample.Run, i int) point {
	s := r.At(i)
	return point{r.Type, s.Time, s.Tag, s.Word, string(s.Bytes)}
}

func (p *point) sample() sample.Sample {
	return sample.Sample{Time: p.time, Tag: p.tag, Word: p.word, Bytes: []byte(p.bytes)}
}

// String shows a point in messages.
func (p point) String() string {
	value := fmt.Sprintf("%x", p.word)
	if !p.typ.Fixed() {
		value = fmt.Sprintf("%d bytes %.8q", len(p.bytes), p.bytes)
	}
	return fmt.Sprintf("%v %s %v tag %x", time.Unix(0, p.time).UTC().Format("01-02T15:04:05.999999999"), value, p.typ, uint32(p.tag))
}

// set is a set of samples of a PV.
type set map[point]struct{}

func (s set) add(points ...point) {
	for _, p := range points {
		s[p] = struct{}{}
	}
}

// sorted returns the samples in the order of their times. The order of samples with equal
// times is fixed but has no meaning.
func (s set) sorted() []point {
	return slices.SortedFunc(maps.Keys(s), func(a, b point) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.typ, b.typ), cmp.Compare(a.word, b.word), cmp.Compare(a.tag, b.tag), cmp.Compare(a.bytes, b.bytes))
	})
}

// channel is a PV: the state of its IOC, and the samples that the model expects.
type channel struct {
	name      string
	typ       sample.Type
	retention store.Retention
	sent      []point // the samples that the IOC sent since the latest deletion
	sure      set     // the durable samples
}

// expectation holds the samples that a read must show and those that it may show.
type expectation struct{ must, may set }

// within returns the expectation for a read of [from, to]. A read may begin with the last
// sample before the range: before has the samples that are allowed there, and is empty if the
// read must begin within the range. If sure is true, the read must begin with one of them.
func (e *expectation) within(from, to int64) (in expectation, before set, sure bool) {
	in, before = expectation{set{}, set{}}, set{}
	exact := false
	for p := range e.must {
		switch {
		case p.time >= from && p.time <= to:
			in.must.add(p)
			exact = exact || p.time == from
		case p.time < from:
			before, sure = e.latest(before, p), true
		}
	}
	for p := range e.may {
		if p.time >= from && p.time <= to {
			in.may.add(p)
		}
	}
	if exact {
		return in, nil, false
	}
	if !sure {
		clear(before)
	}
	var last int64
	for p := range before {
		last = p.time
	}
	for p := range e.may {
		if p.time < from && (!sure || p.time >= last) {
			before.add(p)
		}
	}
	for p := range in.may {
		sure = sure && p.time != from // the range may begin with this sample instead
	}
	return in, before, sure
}

// latest returns the samples with the latest time among p and same. All samples in same have
// the same time. latest changes same.
func (e *expectation) latest(same set, p point) set {
	for q := range same {
		if q.time > p.time {
			return same
		}
		if q.time < p.time {
			clear(same)
		}
		break
	}
	same.add(p)
	return same
}
