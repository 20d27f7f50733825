package clients

import (
	"context"
	"encoding/binary"
	"iter"
	"math"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// newYear is 2026-01-01T00:00:00Z, in the middle of the time range that the clients read.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// pv is a PV of the test, with its samples and the values that clients must read.
type pv struct {
	name   string
	run    sample.Run
	meta   sample.Metadata
	values []any
	// perBlock is the number of samples in a block. 0 means 1.
	perBlock int
	// buckets returns the buckets that have the block of a sample. nil means its month, which is kept forever.
	buckets func(at int64) []store.Bucket
}

func (p *pv) bucketsOf(at int64) []store.Bucket {
	if p.buckets == nil {
		return []store.Bucket{store.Month.Of(at)}
	}
	return p.buckets(at)
}

// add appends a sample and the value that clients must read for it.
func (p *pv) add(at int64, sev sample.Severity, status uint16, s sample.Sample, v any) {
	s.Time, s.Tag = at, sample.MakeTag(sev, status)
	p.run.Append(&s)
	p.values = append(p.values, v)
}

// newPVs returns one PV of each kind. The times cross the turn of the year, and have
// nanoseconds that float64 cannot represent. The values and codes contain bytes that are
// special in the response formats: bytes that must be escaped, and white space.
func newPVs() []pv {
	return described(floats(), shorts(), enums(), texts(), waveforms(), chars())
}

// described returns PVs whose metadata has their type.
func described(pvs ...pv) []pv {
	for i := range pvs {
		p := &pvs[i]
		p.meta.Type, p.meta.Count = p.run.Type, 1
	}
	return pvs
}

func newPV(name string, t sample.Type) pv { return pv{name: name, run: sample.Run{Type: t}} }

func at(i int) int64 { return newYear + int64(i-2)*1e8 + 123456789 }

func floats() pv {
	p := newPV("T:FLOATS", sample.Float64)
	p.meta = sample.Metadata{Units: "°C", Precision: 3}
	values := []float64{2, 1.5, -0.1, 1e300, math.NaN(), math.Inf(-1), 2.2250738585072014e-308}
	for i, v := range values {
		p.add(at(i), sample.Severity(i%4), uint16(i*3), sample.Sample{Word: math.Float64bits(v)}, v)
	}
	return p
}

func shorts() pv {
	p := newPV("T:SHORTS", sample.Int16)
	for i, v := range []int{1, 16, 5, 6, 9, 10, 13, 27, -1, 32767} {
		p.add(at(i), sample.Minor, uint16(9+i), sample.Sample{Word: uint64(int64(v))}, float64(v))
	}
	return p
}

func enums() pv {
	p := newPV("T:ENUMS", sample.Enum)
	p.meta.Labels = []string{"Closed", "Open", "Moving \"half\""}
	for i := range 3 {
		p.add(at(i), sample.NoAlarm, 0, sample.Sample{Word: uint64(i)}, float64(i))
	}
	return p
}

func texts() pv {
	p := newPV("T:TEXTS", sample.String)
	for i, v := range []string{"plain", "", "two\nlines\r\x1b", "quote \" and comma,", "Größe "} {
		p.add(at(i), sample.NoAlarm, 0, sample.Sample{Bytes: []byte(v)}, v)
	}
	return p
}

func waveforms() pv {
	p := newPV("T:WAVEFORMS", sample.Float64.Array())
	for i := range 3 {
		var b []byte
		var want []any
		for k := range 9 {
			v := float64(i) + float64(k)/8
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			want = append(want, v)
		}
		p.add(at(i), sample.Invalid, 17, sample.Sample{Bytes: b}, want)
	}
	return p
}

func chars() pv {
	p := newPV("T:CHARS", sample.Uint8.Array())
	v := []byte{0, 9, 10, 13, 27, 32, 255}
	var want []any
	for _, c := range v {
		want = append(want, float64(c))
	}
	for i := range 3 {
		p.add(at(i), sample.NoAlarm, 0, sample.Sample{Bytes: v}, want)
	}
	return p
}

// states reports all PVs as connected.
type states []pv

// Statuses implements native.Channels.
func (s states) Statuses(ctx context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for i := range s {
			if st, _, err := s.Status(ctx, s[i].name); !yield(st, err) {
				return
			}
		}
	}
}

// Status implements native.Channels.
func (s states) Status(_ context.Context, name string) (capture.Status, bool, error) {
	for i := range s {
		if p := &s[i]; p.name == name {
			st := capture.Status{
				PV: name, Group: "test/group", State: capture.Connected, Since: newYear, Sampling: "Monitor", Type: p.run.Type,
				Connects: 1, Metadata: &p.meta,
			}
			if n := p.run.Len(); n > 0 {
				st.HasLast, st.Last = true, p.run.At(n-1)
			}
			return st, true, nil
		}
	}
	return capture.Status{}, false, nil
}
