package query_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/names"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
)

// capturedPVs are captured PVs. Their version is their number, because the test only adds some.
type capturedPVs []string

func (c *capturedPVs) Names() iter.Seq[string] { return slices.Values(*c) }
func (c *capturedPVs) Captures(pv string) bool { return slices.Contains(*c, pv) }
func (c *capturedPVs) NamesVersion() uint64    { return uint64(len(*c)) }

// TestAnIndexFindsWhatAScanFinds compares searches with an index and without one: random patterns in a directory that
// changes, with captured PVs, aliases, former names, hidden PVs and the names of an older archive.
func TestAnIndexFindsWhatAScanFinds(t *testing.T) {
	st := openPebble(t)
	rng := rand.New(rand.NewPCG(1, 9))
	parts := []string{"A", "B", ":", "ü", "a", "SR", "X"}
	name := func() string {
		n := ""
		for range 1 + rng.IntN(4) {
			n += parts[rng.IntN(len(parts))]
		}
		return n
	}
	book := writeNames(t, st, names.Fact{PV: "SR:A", Former: []string{"B:A", "HB"}, Aliases: []string{"ALIAS", "B:ü", "HA"}}, names.Fact{PV: "XX", Former: []string{"SR:A"}},
		names.Fact{PV: "HX", Former: []string{"AB"}, Aliases: []string{"AA"}})
	captured := &capturedPVs{}
	older := &query.Through{Names: func(context.Context) ([]string, error) { return []string{"X:X", "OLD", "HO", "A"}, nil }}
	readers := map[string][2]*query.Reader{}
	for what, visible := range map[string]func(context.Context, string) bool{
		"everybody": nil, "some": func(_ context.Context, pv string) bool {
			return !strings.HasPrefix(pv, "H") && !strings.HasSuffix(pv, "ü")
		},
	} {
		index := nameindex.New(nameindex.Config{Store: st, Captured: captured})
		for _, through := range []*query.Through{nil, older} {
			both := [2]*query.Reader{}
			for i := range both {
				r := &query.Reader{Store: st, Shards: 4, Captured: captured.Names, Visible: visible, Through: through}
				if visible != nil {
					r.Store = hidden{st, visible}
				}
				if i == 1 {
					r.Index = index
				}
				both[i] = query.Named(r, book)
			}
			readers[fmt.Sprintf("%s, older archive %t", what, through != nil)] = both
		}
	}
	found := 0
	for range 1500 {
		switch pv := name(); rng.IntN(5) {
		case 0:
			if err := st.Delete(t.Context(), pv); err != nil {
				t.Fatal(err)
			}
		case 1, 2:
			if err := st.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{1}}); err != nil {
				t.Fatal(err)
			}
		case 3:
			*captured = append(*captured, pv)
		}
		text := name()
		p := nameindex.Pattern{Match: func(pv string) bool { return strings.Contains(pv, text) }}
		switch rng.IntN(4) {
		case 0:
			p.Contains = text
		case 1:
			p.Prefixes = []string{text}
			p.Match = func(pv string) bool { return strings.HasPrefix(pv, text) }
		case 2:
			p = nameindex.Pattern{}
		}
		if rng.IntN(3) == 0 {
			p.After = name()
		}
		limit := rng.IntN(12) - 1
		for what, both := range readers {
			var got [2][]string
			for i, r := range both {
				var err error
				if got[i], err = r.Find(t.Context(), p, limit); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got[0], got[1]) {
				t.Fatalf("%s, limit %d, after %q, text %q: a scan finds %q, the index %q", what, limit, p.After, text, got[0], got[1])
			}
			if !slices.IsSorted(got[1]) || limit >= 0 && len(got[1]) > limit || len(slices.Compact(slices.Clone(got[1]))) < len(got[1]) {
				t.Fatalf("%s, limit %d: found %q", what, limit, got[1])
			}
			found += len(got[1])
		}
	}
	if found < 20_000 {
		t.Errorf("only %d names were found", found)
	}
}

// hidden is a store without the PVs that a request may not read.
type hidden struct {
	store.Store
	visible func(context.Context, string) bool
}

func (h hidden) Channels(ctx context.Context) iter.Seq2[store.Channel, error] {
	return func(yield func(store.Channel, error) bool) {
		for c, err := range h.Store.Channels(ctx) {
			if (err != nil || h.visible(ctx, c.PV)) && !yield(c, err) {
				return
			}
		}
	}
}
