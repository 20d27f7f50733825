package main

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// heapLimit keeps the limit of the Go runtime in step with --memory, so that garbage does not make
// the process several times as large as its samples:
//
//	--memory     samples in no block yet, and open blocks: counted, see journal.Memory
//	a quarter    frames that arrive: counted, see wire.Budget
//	a quarter    samples that two shards write to blocks at a time: bounded by the sealer
//	             and their copies, room in which columns grow, garbage
//	256 MiB      connections, channels, reads, the program itself
//
// The limit is soft. Near it, the runtime collects garbage more often.
type heapLimit struct {
	memory int64 // --memory, in bytes
	before int64 // the limit to restore
	quit   chan struct{}
	wg     sync.WaitGroup
}

// checkEvery is the time between two checks of the live heap.
const checkEvery = 2 * time.Second

// limitHeap sets the limit of the Go runtime, until end is called. It returns nil, and changes
// nothing, if the user has set GOMEMLIMIT, as the operator does from the pod's memory limit.
func limitHeap(memory int64) *heapLimit {
	if os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	h := &heapLimit{memory: memory, before: debug.SetMemoryLimit(softLimit(memory, 0)), quit: make(chan struct{})}
	h.wg.Go(h.follow)
	return h
}

// end stops the work of limitHeap and restores the limit from before.
func (h *heapLimit) end() {
	close(h.quit)
	h.wg.Wait()
	debug.SetMemoryLimit(h.before)
}

// follow adapts the limit to the live heap until end is called.
func (h *heapLimit) follow() {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-h.quit:
			return
		case <-tick.C:
		}
		metrics.Read(live)
		debug.SetMemoryLimit(softLimit(h.memory, live[0].Value.Uint64()))
	}
}

// softLimit returns the limit of the Go runtime for a value of --memory and the size of the live
// heap, all in bytes. An engine with hundreds of thousands of PVs may need more than usual for
// them. A limit below the live heap would only cost processor time, so the limit leaves room for
// garbage in any case.
func softLimit(memory int64, live uint64) int64 {
	const most = math.MaxInt64 / 4
	m, l := min(memory, most), int64(min(live, most))
	return max(2*m+256<<20, l+l/3)
}
