package rollup

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"varve.dev/varve/engine/sample"
)

// Accumulator computes the bins of one width from samples in time order without duplicates. If
// a sample precedes the first bin of interest, it must be added first.
//
//	group: samples of the latest time ──▶ held ──▶ open bin ──▶ bins
//
// The samples of the latest time wait in the group, because others of the same time may
// follow. They belong to the open bin nevertheless.
type Accumulator struct {
	width int64
	bin   tally
	held  holding
	begun bool    // at least one sample was added
	at    int64   // the time of the latest sample
	group []value // samples of that time that are not applied yet
}

// value is a sample without its time.
type value struct {
	typ    sample.Type
	tag    sample.Tag
	word   uint64
	number float64 // for a Number or a Choice
	bytes  []byte  // for a Text: owned by the run until Add returns
}

// holding is the value that the PV currently holds. The open bin accounts for it up to since.
type holding struct {
	value
	kind   Kind
	exists bool // there was a sample or an earlier bin
	valid  bool // it is a usable value
	since  int64
}

// tally is the open bin with the samples that were applied so far.
type tally struct {
	open       bool
	start, end int64
	count      uint64
	covered    int64
	severity   sample.Severity
	kind       Kind
	follows    bool // a sample precedes the bin
	changed    bool
	sampled    bool // first comes from a sample in the bin
	referred   bool // ref is set
	min, max   float64
	first      float64
	ref        float64
	area, sq   float64 // ∫(v−ref) dt and ∫(v−ref)² dt
	states     []StateTime
	rest       int64
}

// NewAccumulator returns an accumulator for bins of a width in ns.
func NewAccumulator(width int64) *Accumulator { return &Accumulator{width: width} }

// Width returns the width of the bins in ns.
func (a *Accumulator) Width() int64 { return a.width }

// Reset forgets all samples and sets the width.
func (a *Accumulator) Reset(width int64) {
	*a = Accumulator{width: width, group: a.group[:0], bin: tally{states: a.bin.states[:0]}}
}

// Copy makes a equal to o. They share no memory.
func (a *Accumulator) Copy(o *Accumulator) {
	group, states, text := a.group[:0], a.bin.states[:0], a.held.bytes[:0]
	*a = *o
	a.group = append(group, o.group...)
	for i := range a.group {
		a.group[i].bytes = bytes.Clone(a.group[i].bytes)
	}
	a.bin.states = append(states, o.bin.states...)
	a.held.bytes = append(text, o.held.bytes...)
}

// Last returns the time of the latest sample. It returns false if there was none.
func (a *Accumulator) Last() (t int64, ok bool) { return a.at, a.begun }

// Through returns the time up to which all bins are closed. It returns false before the first
// sample.
func (a *Accumulator) Through() (t int64, ok bool) {
	t = Floor(a.at, a.width)
	if len(a.group) == 0 {
		t += a.width
	}
	return t, a.begun
}

// Floor returns the start of the bin of the given width that contains t.
func Floor(t, width int64) int64 {
	r := t % width
	if r < 0 {
		r += width
	}
	return t - r
}

// Hold makes the accumulator start after bin b: the PV holds the last value of b.
func (a *Accumulator) Hold(b *Bin) {
	if !a.begun {
		a.held = holding{kind: b.Kind, exists: true, valid: b.Held, since: b.End()}
		a.held.number, a.held.bytes, a.held.tag = b.Last, []byte(b.Text), sample.MakeTag(b.LastSeverity, 0)
	}
}

// Add adds the samples in [from, to) of a run. No sample may be earlier than those already
// added or repeat one of them. Add appends the bins that these samples close.
func (a *Accumulator) Add(dst []Bin, r *sample.Run, from, to int) []Bin {
	for from < to {
		t := r.Times[from]
		if a.begun && t > a.at {
			dst = a.applyGroup(dst)
		}
		if len(a.group) == 0 && r.Type.Numeric() {
			next := 0
			if dst, next = a.fast(dst, r, from, to-1); next > from {
				from = next
				continue
			}
		}
		if a.bin.open && t >= a.bin.end {
			dst = a.finish(dst)
		}
		a.at, a.begun = t, true
		a.group = append(a.group, valueOf(r, from))
		from++
	}
	a.held.bytes = bytes.Clone(a.held.bytes)
	for i := range a.group {
		a.group[i].bytes = bytes.Clone(a.group[i].bytes)
	}
	return dst
}

// Close closes the open bin if it ends at or before the given time. No sample before that time
// may follow.
func (a *Accumulator) Close(dst []Bin, before int64) []Bin {
	if len(a.group) == 0 || Floor(a.at, a.width)+a.width > before {
		return dst
	}
	return a.finish(a.applyGroup(dst))
}

func valueOf(r *sample.Run, i int) value {
	v := value{typ: r.Type, tag: r.Tags[i] &^ sample.CarriedForward}
	switch {
	case r.Type.Fixed():
		v.word, v.number = r.Words[i], r.Float(i)
	case r.Type == sample.String:
		v.bytes = cut(r.Value(i))
	}
	return v
}

// cut returns the beginning of a text, at most MaxText bytes of whole runes.
func cut(b []byte) []byte {
	if len(b) <= MaxText {
		return b
	}
	n := MaxText
	for n > MaxText-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n:n]
}

func compare(a, b value) int {
	return cmp.Or(cmp.Compare(a.typ, b.typ), cmp.Compare(a.word, b.word), bytes.Compare(a.bytes, b.bytes), cmp.Compare(a.tag, b.tag))
}

// Undefined reports whether the tag marks an undefined value.
func Undefined(t sample.Tag) bool {
	const udf = 17 // as in EPICS base (alarm.h)
	return t.Severity() == sample.Invalid && t.Status() == udf
}

// finite reports whether v is neither NaN nor an infinity.
func finite(v float64) bool { return v-v == 0 }

// applyGroup applies the samples of the group to their bin.
func (a *Accumulator) applyGroup(dst []Bin) []Bin {
	if len(a.group) == 0 {
		return dst
	}
	dst = a.advance(dst, a.at)
	if len(a.group) > 1 {
		slices.SortFunc(a.group, compare)
	}
	last := a.group[len(a.group)-1]
	kind := KindOf(last.typ)
	b := &a.bin
	if kind != b.kind {
		b.restart(kind, a.at)
	}
	for i := range a.group {
		v := &a.group[i]
		b.severity = max(b.severity, v.tag.Severity())
		if kind == Number && KindOf(v.typ) == Number && finite(v.number) && !Undefined(v.tag) {
			b.min, b.max = lesser(b.min, v.number), greater(b.max, v.number)
		}
	}
	b.count += uint64(len(a.group))
	if !b.sampled {
		b.first, b.sampled = last.number, true
	}
	valid := !Undefined(last.tag) && (kind != Number || finite(last.number))
	a.held = holding{value: last, kind: kind, exists: true, valid: valid, since: a.at}
	a.group = a.group[:0]
	return dst
}

// advance accounts for the held value until t and opens the bin that contains t.
func (a *Accumulator) advance(dst []Bin, t int64) []Bin {
	if a.bin.open && t < a.bin.end {
		a.account(t)
		return dst
	}
	dst = a.finish(dst)
	start := Floor(t, a.width)
	a.bin = tally{
		open: true, start: start, end: start + a.width, kind: a.held.kind, follows: a.held.exists, first: a.held.number,
		min: math.NaN(), max: math.NaN(), states: a.bin.states[:0],
	}
	a.held.since = start
	a.account(t)
	return dst
}

// finish closes the open bin.
func (a *Accumulator) finish(dst []Bin) []Bin {
	if !a.bin.open {
		return dst
	}
	a.account(a.bin.end)
	a.bin.open = false
	return append(dst, a.bin.bin(&a.held))
}

// account adds the time from since to t, during which the PV held its value, to the open bin.
func (a *Accumulator) account(t int64) {
	b, h := &a.bin, &a.held
	dt := t - h.since
	if dt <= 0 {
		return
	}
	h.since = t
	b.severity = max(b.severity, h.tag.Severity())
	if !h.valid || h.kind != b.kind {
		return
	}
	b.covered += dt
	switch h.kind {
	case Number:
		if !b.referred {
			b.ref, b.referred = h.number, true
		}
		b.min, b.max = lesser(b.min, h.number), greater(b.max, h.number)
		d := h.number - b.ref
		w := float64(d * float64(dt)) // the conversions prevent fused multiply-add
		b.area += w
		b.sq += float64(w * d)
	case Choice:
		b.hold(uint32(int64(h.number)), dt)
	}
}

// hold adds time to a state.
func (b *tally) hold(state uint32, dt int64) {
	for i := range b.states {
		if b.states[i].State == state {
			b.states[i].Time += dt
			return
		}
	}
	if len(b.states) < MaxStates {
		b.states = append(b.states, StateTime{state, dt})
	} else {
		b.rest += dt
	}
}

// restart discards the values of the previous kind and starts with another kind at time t.
func (b *tally) restart(kind Kind, t int64) {
	states := b.states[:0]
	*b = tally{
		open: true, start: b.start, end: b.end, count: b.count, severity: b.severity, kind: kind,
		follows: b.follows, changed: b.count > 0 || b.follows && t > b.start,
		min: math.NaN(), max: math.NaN(), states: states,
	}
}
