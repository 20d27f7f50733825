package relocation

import (
	"sync"
	"time"
)

// Limits of tier migration. They leave most of the capacity of the store and the engine for
// capture.
const (
	rateLimit = 16 << 20 // bytes per second, for all shards of an engine together
	// readCost and writeCost are the bytes that one read of a bucket, and one write, count in
	// addition to their content.
	readCost  = 4 << 10
	writeCost = 32 << 10
	// stepBytes and stepTime limit how much a shard migrates before other shards may migrate.
	stepBytes = 8 << 20
	stepTime  = 250 * time.Millisecond
)

// Pace lets one shard of an engine at a time migrate blocks, at a bounded rate. Its zero value
// is ready to use.
type Pace struct {
	busy sync.Mutex
	next time.Time // when the next shard may begin
}

// begin reports whether a shard may migrate blocks now. If so, the shard calls end afterwards.
func (p *Pace) begin() bool {
	if !p.busy.TryLock() {
		return false
	}
	if time.Now().Before(p.next) {
		p.busy.Unlock()
		return false
	}
	return true
}

// end notes how many bytes were migrated.
func (p *Pace) end(bytes int) {
	p.next = time.Now().Add(time.Duration(bytes) * time.Second / rateLimit)
	p.busy.Unlock()
}
