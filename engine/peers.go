package engine

import (
	"sync"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/store"
)

// peers holds what is known of the clocks of other engines, from their claims.
type peers struct {
	mu    sync.Mutex
	signs map[int]map[store.WriterID]sign // by shard
}

// sign is the latest sign of life of a writer, and the latest time since boot at which a read of
// the claims began that showed it.
type sign struct {
	alive int64
	seen  time.Duration
}

// claimSlack is how long the write of a claim may take.
const claimSlack = 2 * time.Second

// noteClaims returns what the claims of a shard tell about the clocks of their engines. A writer
// whose sign of life changed since the previous read renewed its claim between the two reads. ours
// reports which writers belong to this process.
func (p *peers) noteClaims(shard int, claims []store.Claim, ours func(store.WriterID) bool, began, ended time.Duration) (out []clock.Reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, now := p.signs[shard], map[store.WriterID]sign{}
	for _, c := range claims {
		if ours(c.Writer) {
			continue
		}
		now[c.Writer] = sign{c.Alive, began}
		if was, known := before[c.Writer]; known && was.alive != c.Alive {
			half := (ended - was.seen + claimSlack) / 2
			out = append(out, clock.Reading{Source: c.Writer.String(), Time: c.Alive, At: ended - half, Within: half})
		}
	}
	if p.signs == nil {
		p.signs = map[int]map[store.WriterID]sign{}
	}
	p.signs[shard] = now
	return out
}
