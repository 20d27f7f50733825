package engine

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// marked is a store that keeps the times of losses in memory, in hours. Its directory is empty.
type marked struct {
	store.Store
	of map[string][]string // by PV
}

func (m *marked) PutMarks(_ context.Context, marks ...store.PVMark) error {
	for _, k := range marks {
		if k.Kind == sample.Lost {
			m.of[k.PV] = append(m.of[k.PV], fmt.Sprintf("%d to %d", k.Time/int64(time.Hour), k.End/int64(time.Hour)))
		}
	}
	return nil
}

func (m *marked) Channels(context.Context) iter.Seq2[store.Channel, error] {
	return func(func(store.Channel, error) bool) {}
}

// TestDamagesStayApart finds damage of a shard before an engine holds it, while it holds it, and after
// that. Each PV must have one mark for each damage, when it is first captured, and no mark may cover the
// time in between.
func TestDamagesStayApart(t *testing.T) {
	st := &marked{of: map[string][]string{}}
	e := New(Options{Store: st, Sources: capture.Sources{&taps{}}})
	found := func(hour int64) {
		h := int64(time.Hour)
		e.markDamaged(3, "", sample.Mark{Time: hour * h, End: (hour + 1) * h, Kind: sample.Lost, Reason: sample.Damaged})
	}
	hold := Assignment{3: {Channels: []capture.Channel{{PV: "DAMAGE:A", Settings: &capture.Settings{}}}}}
	found(100)
	found(200)
	e.Apply(hold)
	found(300)
	e.Apply(nil)
	found(400)
	e.Apply(hold)
	e.Apply(nil)
	e.Apply(hold)
	e.stop()
	ended, end := context.WithCancel(t.Context())
	end()
	e.marks.Run(ended, t.Context())
	if want := []string{"100 to 101", "200 to 201", "300 to 301", "400 to 401"}; !slices.Equal(st.of["DAMAGE:A"], want) {
		t.Errorf("the marks are %q, want %q", st.of["DAMAGE:A"], want)
	}
}
