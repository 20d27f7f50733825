package clock

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of evidence about the clock of this machine.
type Kind uint8

// Kinds of evidence.
const (
	// Earlier is the clock itself before it was set to another time.
	Earlier Kind = iota
	// Peers are the other engines. Their claims have times by their clocks.
	Peers
	// IOCs are the servers whose samples arrive. It counts as disagreement if most of them agree
	// on another time.
	IOCs
	// Servers are the servers of the store.
	Servers
)

var kindNames = [...]string{"this clock before it was set", "other engines", "IOCs", "Cassandra nodes"}

// enoughIOCs is the number of IOC servers that can prove a clock wrong without other evidence.
const enoughIOCs = 3

// Opinion is what one kind of evidence says about the clock.
type Opinion struct {
	Kind Kind
	// Offset is the time by the evidence minus the time by the clock. It is exact to Within.
	Offset, Within time.Duration
	// Sources is the number of sources that agree on Offset.
	Sources int
}

// weight returns how much an opinion counts. The clock itself counts 1.
func (o *Opinion) weight() int {
	if o.Kind == Servers || o.Kind == IOCs && o.Sources >= enoughIOCs {
		return 2
	}
	return 1
}

// isWeak reports whether the opinion counts only together with another one. An IOC without a time
// server is common.
func (o *Opinion) isWeak() bool { return o.Kind == IOCs && o.Sources < enoughIOCs }

func (o *Opinion) isOff(limit time.Duration) bool { return o.Offset.Abs()-o.Within > limit }

func (o *Opinion) agrees(p *Opinion, limit time.Duration) bool {
	return (o.Offset - p.Offset).Abs() <= limit+o.Within+p.Within
}

// Judgement says whether a clock is right.
type Judgement uint8

// Judgements.
const (
	// Unknown means that there is no evidence, or that it is contradictory.
	Unknown Judgement = iota
	// Right means that the clock agrees with the evidence.
	Right
	// Wrong means that the evidence agrees on another time.
	Wrong
)

// String returns "unknown", "right" or "wrong".
func (j Judgement) String() string { return [...]string{"unknown", "right", "wrong"}[j] }

// Verdict is what the evidence says about the clock.
type Verdict struct {
	Judgement
	// Offset is what must be added to the clock to get the time. It is 0 unless the clock is wrong.
	Offset time.Duration
	// From and To bound what may have to be added. Both are 0 if the clock is right.
	From, To time.Duration
	// Least is the least that any evidence would add, and at most 0. Evidence that is outvoted does
	// not count, unless it is the store's: its servers expire rows by their own clocks.
	Least time.Duration
	// Begin and End bound the offset for marks; see Instant.Begin.
	Begin, End time.Duration
	// Measured is what the evidence that counts most would add, or 0 if there is none.
	Measured time.Duration
	// Because explains the judgement.
	Because string
}

// IsDoubtful reports whether there is evidence against the clock that does not prove it wrong.
func (v *Verdict) IsDoubtful() bool { return v.Judgement == Unknown && v.From != v.To }

// Judge weighs the opinions about a clock. A difference up to limit is none. was is the previous
// judgement: a wrong clock must come within half of the limit to be right again.
//
// The clock is wrong if the store's servers, three or more IOC servers, or two kinds of evidence
// agree on another time, and no evidence agrees with the clock. It is right if the evidence that
// agrees with it counts more than the rest. Otherwise nothing is known.
func Judge(opinions []Opinion, limit time.Duration, was Judgement) Verdict {
	bound := limit
	if was == Wrong {
		bound /= 2
	}
	var right, off []Opinion
	for _, o := range opinions {
		if o.isOff(bound) {
			off = append(off, o)
		} else if o.Kind != Earlier { // the clock does not confirm itself
			right = append(right, o)
		}
	}
	off = dropUnsupported(off, limit)
	against, best := heaviest(off, limit)
	switch {
	case len(right)+len(off) == 0:
		return Verdict{Because: "there is nothing to compare the clock with"}
	case len(off) > 0 && len(right) == 0 && against >= 2:
		return wrong(best, off, limit)
	case 1+weigh(right) > against:
		return isRight(right, off)
	}
	return unknown(right, off)
}

// dropUnsupported leaves out a weak opinion with which no other agrees.
func dropUnsupported(off []Opinion, limit time.Duration) (out []Opinion) {
	for i := range off {
		if _, n := support(&off[i], off, limit); !off[i].isWeak() || n > 1 {
			out = append(out, off[i])
		}
	}
	return out
}

// support returns the weight and the number of the opinions that agree with o, including o.
func support(o *Opinion, all []Opinion, limit time.Duration) (weight, n int) {
	for i := range all {
		if all[i].agrees(o, limit) {
			weight += all[i].weight()
			n++
		}
	}
	return weight, n
}

// heaviest returns the opinion with the most support, and the weight of its support. Of two with
// the same support it returns the one that counts more.
func heaviest(all []Opinion, limit time.Duration) (weight int, best *Opinion) {
	for i := range all {
		o := &all[i]
		w, _ := support(o, all, limit)
		if best == nil || w > weight || w == weight && (o.weight() > best.weight() || o.weight() == best.weight() && o.Kind > best.Kind) {
			weight, best = w, o
		}
	}
	return weight, best
}

func weigh(all []Opinion) (weight int) {
	for i := range all {
		weight += all[i].weight()
	}
	return weight
}

func wrong(best *Opinion, off []Opinion, limit time.Duration) Verdict {
	v := Verdict{
		Judgement: Wrong, Offset: best.Offset, Measured: best.Offset, From: best.Offset - best.Within, To: best.Offset + best.Within,
		Because: "the clock differs from " + list(off, func(o *Opinion) bool { return o.agrees(best, limit) }),
	}
	v.Least = min(0, v.From)
	agree := slices.DeleteFunc(slices.Clone(off), func(o Opinion) bool { return !o.agrees(best, limit) })
	v.Begin, v.End = bounds(agree)
	return v
}

// isRight returns the verdict that the clock is right.
func isRight(right, off []Opinion) Verdict {
	_, best := heaviest(right, 0)
	v := Verdict{Judgement: Right, Measured: best.Offset, Because: "the clock agrees with " + list(right, all)}
	for _, o := range slices.Concat(right, off) {
		if o.Kind == Servers || !o.isOff(limit) {
			v.Least = min(v.Least, o.Offset-o.Within)
		}
	}
	if len(off) > 0 {
		v.Because += ", not with " + list(off, all)
	}
	v.Begin, v.End = bounds(append([]Opinion{{Kind: itself}}, right...))
	return v
}

func unknown(right, off []Opinion) Verdict {
	_, best := heaviest(off, 0)
	v := Verdict{Measured: best.Offset, Because: "the clock differs from " + list(off, all)}
	for _, o := range slices.Concat(right, off) {
		v.From, v.To = min(v.From, o.Offset-o.Within), max(v.To, o.Offset+o.Within)
	}
	v.Least = v.From
	v.Begin, v.End = max(v.From, -Widest), min(v.To, Widest)
	if len(right) > 0 {
		v.Because += ", not from " + list(right, all)
	}
	return v
}

// allowAll makes the verdict say that the time may be anything.
func (v *Verdict) allowAll() { v.From, v.To = -century, century }

func all(*Opinion) bool { return true }

// list names the opinions that are wanted.
func list(opinions []Opinion, wanted func(*Opinion) bool) string {
	var names []string
	for i := range opinions {
		o := &opinions[i]
		switch name := kindNames[o.Kind]; {
		case !wanted(o):
		case o.Kind == Earlier:
			names = append(names, name)
		default:
			names = append(names, fmt.Sprintf("%s (%d agree)", name, o.Sources))
		}
	}
	return strings.Join(names, " and ")
}
