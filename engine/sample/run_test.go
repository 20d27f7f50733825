package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func number(t int64, v int, tag Tag) Sample { return Sample{Time: t, Word: uint64(v), Tag: tag} }

func numbers(samples ...Sample) *Run {
	r := &Run{Type: Int64}
	for i := range samples {
		r.Append(&samples[i])
	}
	return r
}

func texts(vals ...string) *Run {
	r := &Run{Type: String}
	for i, v := range vals {
		r.Append(&Sample{Time: int64(i), Bytes: []byte(v)})
	}
	return r
}

func same(t *testing.T, what string, want, got *Run) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestNormalize(t *testing.T) {
	minor := MakeTag(Minor, 4)
	for name, tc := range map[string]struct{ in, want *Run }{
		"in order":               {numbers(number(1, 1, 0), number(2, 1, 0)), numbers(number(1, 1, 0), number(2, 1, 0))},
		"late":                   {numbers(number(2, 1, 0), number(1, 2, 0)), numbers(number(1, 2, 0), number(2, 1, 0))},
		"twice":                  {numbers(number(1, 1, 0), number(2, 2, 0), number(1, 1, 0)), numbers(number(1, 1, 0), number(2, 2, 0))},
		"equal times":            {numbers(number(1, 3, 0), number(1, 1, 0), number(1, 3, 0), number(1, 2, 0)), numbers(number(1, 3, 0), number(1, 1, 0), number(1, 2, 0))},
		"equal but an alarm":     {numbers(number(1, 1, 0), number(1, 1, minor)), numbers(number(1, 1, 0), number(1, 1, minor))},
		"a carried-forward copy": {numbers(number(1, 1, 0), number(1, 1, CarriedForward)), numbers(number(1, 1, 0))},
		"empty":                  {numbers(), numbers()},
		"texts":                  {texts("b", "a"), texts("b", "a")},
	} {
		tc.in.Normalize()
		same(t, name, tc.want, tc.in)
	}
}

// TestNormalizeIsASet compares normalized runs with sets of random samples, of which many have
// the same time.
func TestNormalizeIsASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		r := &Run{Type: String}
		want := map[string]bool{}
		for range rng.IntN(60) {
			s := Sample{Time: rng.Int64N(20), Tag: Tag(rng.IntN(2)), Bytes: fmt.Append(nil, rng.IntN(3))}
			r.Append(&s)
			want[fmt.Sprint(s.Time, s.Tag, string(s.Bytes))] = true
		}
		r.Normalize()
		if !slices.IsSorted(r.Times) || r.Len() != len(want) {
			t.Fatalf("%d samples, sorted: %v; want %d", r.Len(), slices.IsSorted(r.Times), len(want))
		}
		for i := range r.Len() {
			s := r.At(i)
			if key := fmt.Sprint(s.Time, s.Tag, string(s.Bytes)); !want[key] {
				t.Fatalf("sample %s is in the run twice, or was never added", key)
			}
		}
	}
}

func TestDropFirstAndAppendRange(t *testing.T) {
	for _, r := range []*Run{texts("one", "", "three", "four"), numbers(number(1, 1, 0), number(2, 2, 0), number(3, 3, 0), number(4, 4, 0))} {
		for n := range r.Len() + 1 {
			rest := r.Clone()
			rest.DropFirst(n)
			want := &Run{Type: r.Type}
			want.AppendRange(r, n, r.Len())
			same(t, fmt.Sprintf("%v without %d", r.Type, n), want, rest)
			again := &Run{Type: r.Type}
			again.AppendRange(r, 0, n)
			again.AppendRange(rest, 0, rest.Len())
			same(t, fmt.Sprintf("%v put together at %d", r.Type, n), r, again)
		}
	}
}

func TestDropFirstGivesMemoryBack(t *testing.T) {
	for _, typ := range []Type{Float64, String} {
		r := &Run{Type: typ}
		for i := range int64(10_000) {
			r.Append(&Sample{Time: i, Bytes: []byte("text")})
		}
		r.DropFirst(9_990)
		room := cap(r.Times) + cap(r.Tags) + cap(r.Words) + cap(r.Ends)
		if r.Len() != 10 || r.Times[0] != 9_990 || room > 4*(2*10+keptRoom) {
			t.Errorf("%v: %d samples from %d on, with room for %d", typ, r.Len(), r.Times[0], room)
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	r := texts("one", "two")
	c := r.Clone()
	r.Times[0], r.Bytes[0] = 99, 'x'
	same(t, "a clone", texts("one", "two"), c)
}

func TestFloat(t *testing.T) {
	minus := int64(-7)
	for _, tc := range []struct {
		typ  Type
		word uint64
		want float64
	}{
		{Float64, math.Float64bits(-1.5), -1.5}, {Float32, uint64(math.Float32bits(0.1)), float64(float32(0.1))},
		{Int16, uint64(minus), -7}, {Uint64, math.MaxUint64, math.MaxUint64}, {Int64, math.MaxUint64, -1}, {Bool, 1, 1},
	} {
		if got := Float(tc.typ, tc.word); got != tc.want {
			t.Errorf("%v %x is %v, want %v", tc.typ, tc.word, got, tc.want)
		}
	}
}

func TestWordsOfArrays(t *testing.T) {
	minus := int64(-2)
	for _, tc := range []struct {
		typ  Type
		b    []byte
		want uint64
	}{
		{Int8, []byte{0, 0xfe}, uint64(minus)}, {Uint8, []byte{0, 0xfe}, 0xfe}, {Int16, []byte{0, 0, 0xfe, 0xff}, uint64(minus)},
		{Enum, []byte{0, 0, 3, 0}, 3}, {Int32, []byte{0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}, uint64(minus)},
		{Float32, []byte{0, 0, 0, 0, 0, 0, 0x80, 0x3f}, uint64(math.Float32bits(1))},
	} {
		if got := Word(tc.typ.Array(), tc.b, 1); got != tc.want {
			t.Errorf("element 1 of %v %x is %x, want %x", tc.typ.Array(), tc.b, got, tc.want)
		}
	}
}

func TestStrings(t *testing.T) {
	elems := []string{"", "a", "long enough to be one"}
	b := AppendStrings(nil, elems...)
	if got := Strings(b); !slices.Equal(got, elems) {
		t.Errorf("%q, want %q", got, elems)
	}
	for n := range b {
		if got := Strings(b[:n]); len(got) >= len(elems) {
			t.Errorf("%d of %d bytes give %q", n, len(b), got)
		}
	}
}

func TestTags(t *testing.T) {
	tag := MakeTag(Major, 3) | EngineClock
	if tag.Severity() != Major || tag.Status() != 3 || tag.StatusName() != "HIHI" || tag.Severity().String() != "MAJOR" {
		t.Errorf("%x: %v %s", uint32(tag), tag.Severity(), tag.StatusName())
	}
	if !tag.SameAlarm(MakeTag(Major, 3)|CarriedForward) || tag.SameAlarm(MakeTag(Major, 4)) || tag.SameAlarm(MakeTag(Minor, 3)) {
		t.Error("alarms are compared wrongly")
	}
	if got := MakeTag(NoAlarm, 99).StatusName(); got != "status(99)" {
		t.Errorf("an unknown status is %s", got)
	}
}

func TestMetadataEqual(t *testing.T) {
	m := Metadata{Units: "mA", Precision: 3, Labels: []string{"Off", "On"}}
	m.SetLimits([8]float64{0, 10, 1, math.NaN(), 2, 8, math.NaN(), math.NaN()})
	same := m
	same.Host, same.Labels = "another:5064", slices.Clone(m.Labels)
	if !m.Equal(&same) {
		t.Error("two equal values differ")
	}
	for name, change := range map[string]func(*Metadata){
		"units": func(m *Metadata) { m.Units = "A" }, "labels": func(m *Metadata) { m.Labels = nil },
		"a limit": func(m *Metadata) { m.WarnHigh = 9 }, "no limit": func(m *Metadata) { m.AlarmLow = math.NaN() },
		"type": func(m *Metadata) { m.Type = Enum }, "precision": func(m *Metadata) { m.Precision = 2 },
	} {
		other := m
		change(&other)
		if m.Equal(&other) {
			t.Errorf("values with different %s are equal", name)
		}
	}
}

func TestWithin(t *testing.T) {
	r := &Run{Type: String}
	for _, at := range []int64{1, 5, 3, 5, 8, 2, 9} {
		r.Append(&Sample{Time: at, Bytes: []byte{byte('0' + at)}})
	}
	for _, c := range []struct {
		from, to int64
		want     string
	}{
		{0, 9, "1535829"}, {1, 9, "1535829"}, {2, 9, "535829"}, {4, 8, "5358"}, {5, 5, "55"}, {6, 7, "55"}, {-3, 0, ""}, {10, 20, "9"},
	} {
		got := r.Within(c.from, c.to)
		text := ""
		for i := range got.Len() {
			text += string(got.Value(i))
		}
		if text != c.want {
			t.Errorf("between %d and %d: %q, want %q", c.from, c.to, text, c.want)
		}
	}
	if r.Within(1, 9) != r {
		t.Error("Within copies a run that is inside the range")
	}
}
