package cassandra_test

import (
	"slices"
	"testing"

	"varve.dev/varve/engine/store"
)

// TestDamagedElementsAreRemoved writes elements into the directory that no program writes, and removes them. The rest of the entry
// must be readable before and after that.
func TestDamagedElementsAreRemoved(t *testing.T) {
	cfg := config(t)
	st := open(t, cfg)
	s := &torn{T: t, session: connect(t, cfg), keyspace: cfg.Keyspace}
	want := []store.Deleted{{From: 3, To: 5}}
	for _, pv := range []string{"A", "B"} {
		s.must(st.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{7}, Deleted: want}))
	}
	s.exec("UPDATE @channel SET deleted = deleted + ? WHERE pv = ?", [][]byte{{1, 2}, make([]byte, 18)}, "A")
	for _, damaged := range []int{2, 0} {
		n := 0
		for c, err := range st.Channels(t.Context()) {
			if s.must(err); c.PV == "A" {
				n += c.Damaged
			}
			if !slices.Equal(c.Deleted, want) || !slices.Equal(c.Shards, []int{7}) {
				t.Errorf("the entry is %+v", c)
			}
		}
		if n != damaged {
			t.Errorf("%d elements are damaged, want %d", n, damaged)
		}
		s.must(st.DropDamaged(t.Context(), "A"))
	}
}
