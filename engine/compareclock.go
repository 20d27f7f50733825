package engine

import (
	"context"
	"errors"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/store"
)

// errClocksUnknown is returned for claims while no server of the store tells its time.
var errClocksUnknown = errors.New("the servers of the store do not tell their time")

// claimsReader is the store as sealers see it. The claims that they read are evidence about the
// clock of this machine. Sealers read claims first, and they get none before the servers of the
// store have told their time. So no sealer lets anything expire by a clock that nothing was compared
// with.
type claimsReader struct {
	store.Store
	e *Engine
}

// Claims implements store.Store.
func (r claimsReader) Claims(ctx context.Context, shard int) ([]store.Claim, error) {
	if !r.e.clock.Answered() && !r.e.clock.Ask(ctx) {
		return nil, errClocksUnknown
	}
	began := r.e.clock.Boot()
	claims, err := r.Store.Claims(ctx, shard)
	if err == nil {
		r.e.clock.Note(clock.Peers, r.e.peers.noteClaims(shard, claims, r.e.owns, began, r.e.clock.Boot())...)
	}
	return claims, err
}

// Bounds of the comparison before the first capture.
const (
	compareFor  = 2 * time.Second
	compareWait = 100 * time.Millisecond
)

// compareClock compares the clock with those of the store before the first sample arrives, so that
// a wrong clock changes the times of none. It gives up after a short time, because capture must not
// wait for a store that is away.
func (e *Engine) compareClock() {
	ctx, cancel := context.WithTimeout(context.Background(), compareFor)
	defer cancel()
	for !e.clock.Ask(ctx) {
		select {
		case <-time.After(compareWait):
		case <-ctx.Done():
			return
		}
	}
}

// Clock returns the verdict about the clock of this machine.
func (e *Engine) Clock() clock.Verdict { return e.clock.Verdict() }
