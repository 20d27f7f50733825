package routing

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/nameindex/nameindextest"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/groups/channellist"
)

// TestTheVersionOfNamesChangesWithTheLists rebuilds tables as the Router does. The index of names reads the lists again only
// if the version changes.
func TestTheVersionOfNamesChangesWithTheLists(t *testing.T) {
	lists := map[string]*pvSet{"l1": pvSetOf(t, "A"), "l2": pvSetOf(t, "B")}
	last := &table{}
	for _, step := range []struct {
		what    string
		shards  map[string]*v1alpha1.ArchiveShard
		changes bool
	}{
		{"no shards", nil, false},
		{"two lists", map[string]*v1alpha1.ArchiveShard{"s1": shardOf(1, "l1"), "s2": shardOf(2, "l2 unread")}, true},
		{"another engine", map[string]*v1alpha1.ArchiveShard{"s1": shardOf(1, "l1", "e1 Capturing"), "s2": shardOf(2, "l2 unread")}, false},
		{"a list less", map[string]*v1alpha1.ArchiveShard{"s1": shardOf(1, "l1")}, true},
		{"another list", map[string]*v1alpha1.ArchiveShard{"s1": shardOf(1, "l2")}, true},
		{"the same one", map[string]*v1alpha1.ArchiveShard{"s1": shardOf(1, "l2")}, false},
	} {
		next := buildTable(step.shards, nil, func(name string) (*pvSet, bool) { n, ok := lists[name]; return n, ok })
		next.countFrom(last)
		if changes := next.version != last.version; changes != step.changes {
			t.Errorf("%s: the version changes: %t", step.what, changes)
		}
		last = next
	}
	r := New(Config{})
	r.table.Store(last)
	if !r.Captures("B") || r.Captures("A") || r.NamesVersion() != last.version {
		t.Error("the router does not answer for its table")
	}
}

// BenchmarkNames reads the names of a million PVs in 256 shards. retained-B/PV is the memory of a table for a PV.
func BenchmarkNames(b *testing.B) {
	const shards = 256
	channels := make([][]capture.Channel, shards)
	settings := &capture.Settings{}
	for i := range nameindextest.Count {
		pv := nameindextest.Name(i)
		k := pvname.Shard(pv, shards)
		channels[k] = append(channels[k], capture.Channel{PV: pv, Group: "ns/g", Settings: settings})
	}
	for k := range channels {
		slices.SortFunc(channels[k], func(x, y capture.Channel) int { return strings.Compare(x.PV, y.PV) })
	}
	before := heap()
	lists, objects := map[string]*pvSet{}, map[string]*v1alpha1.ArchiveShard{}
	for k := range channels {
		all := ""
		for i, part := range channellist.Encode(channels[k]) {
			name := fmt.Sprintf("l%d-%d", k, i)
			n, err := decodePVSet(part.Data)
			if err != nil {
				b.Fatal(err)
			}
			lists[name] = n
			all += " " + name
		}
		objects[fmt.Sprintf("s%d", k)] = shardOf(k, all)
	}
	a := buildTable(objects, nil, func(name string) (*pvSet, bool) { return lists[name], true })
	retained := float64(heap()-before) / nameindextest.Count
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range a.all() {
			n++
		}
		if n != nameindextest.Count {
			b.Fatalf("there are %d names", n)
		}
	}
	b.ReportMetric(retained, "retained-B/PV")
	runtime.KeepAlive(channels)
	runtime.KeepAlive(a)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
