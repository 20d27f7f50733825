package cql

import (
	"slices"
	"sync"
	"testing"
	"time"
)

func TestClockStrictlyRises(t *testing.T) {
	c := Clock{Now: time.Now}
	ahead := time.Now().Add(time.Hour).UnixMicro()
	c.last.Store(ahead) // this simulates a machine whose clock was set back
	var mu sync.Mutex
	var all []int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var got []int64
			for range 1000 {
				got = append(got, c.Next())
			}
			if !slices.IsSorted(got) {
				t.Error("a timestamp is less than an earlier one")
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, got...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 4000 || all[0] != ahead+1 {
		t.Errorf("%d of 4000 timestamps differ, from %d on", n, all[0]-ahead)
	}
}
