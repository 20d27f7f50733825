package nameindex

import (
	"iter"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"varve.dev/varve/engine/nameindex/nameindextest"
)

// BenchmarkSearch searches in a million names. retained-B/name is the memory of an index for a name.
func BenchmarkSearch(b *testing.B) {
	before := heap()
	v := View{mustList(b, nameindextest.Names(nameindextest.Count))}
	retained := float64(heap()-before) / nameindextest.Count
	like := regexp.MustCompile(`^.*C[0-9]{2}.*[XY]-Wf$`).MatchString
	for _, c := range []struct {
		name string
		p    Pattern
	}{
		{"all", Pattern{}},
		{"prefix", Pattern{Prefixes: []string{"SR-C12:PS:"}}},
		{"text", Pattern{Contains: ":QF1:Current-I"}},
		{"short_text", Pattern{Contains: "-I"}},
		{"text_ignoring_case", Pattern{ContainsFold: ":qf1:current-i"}},
		{"regexp", Pattern{Match: like}},
		{"regexp_after_text", Pattern{Match: like, Contains: "-Wf"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = 0
				for range v.Search(b.Context(), c.p, nil) {
					n++
				}
			}
			b.ReportMetric(float64(n), "names")
			b.ReportMetric(retained, "retained-B/name")
		})
	}
}

// BenchmarkChange adds one PV to a million, and makes the captured PVs a million others.
func BenchmarkChange(b *testing.B) {
	l := mustList(b, nameindextest.Names(nameindextest.Count))
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := l.with([]string{"SR-C12:PS:QF1:New"}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("captured", func(b *testing.B) {
		b.ReportAllocs()
		all := nameindextest.Names(nameindextest.Count)
		for b.Loop() {
			x, fresh := New(Config{Captured: many(all)}), &list{text: l.text, ends: l.ends}
			if err := x.addCaptured(b.Context(), &held{dir: fresh}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// many are captured PVs that never change.
type many []string

func (m many) Names() iter.Seq[string] { return slices.Values(m) }
func (m many) Captures(string) bool    { return true }
func (m many) NamesVersion() uint64    { return 1 }

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryPerName makes sure that a name takes little more memory than its bytes.
func TestMemoryPerName(t *testing.T) {
	l := mustList(t, nameindextest.Names(100_000))
	if per := float64(l.bytes()) / float64(l.len()); per > 40 {
		t.Errorf("a name takes %.1f bytes", per)
	}
}
