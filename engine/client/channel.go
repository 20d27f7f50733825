package client

import (
	"net/netip"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/search"
)

// State is where a channel is in its life:
//
//	Subscribe ─▶ Searching ──found──▶ Connecting ──subscribed──▶ Connected
//	                 ▲                     │                      or Unusable
//	                 └─────────────────────┴─ circuit lost, or channel refused or deleted ─┘
//
// A channel can be closed in any state, for good.
type State uint8

// The states of a channel.
const (
	Searching State = iota
	Connecting
	Connected
	Unusable // the client cannot archive its type, or may not read it
	closed

	numStates = int(closed)
)

var stateNames = [numStates]string{"searching", "connecting", "connected", "unusable"}

// Channel is one subscription. Its owner is the Kernel, under its lock, while the
// channel is searched for, and the Circuit that it was attached to, under the circuit's
// lock, from then on.
type Channel struct {
	Sink    capture.Sink
	Options capture.SubscribeOptions

	// Slot is the channel's slot on its circuit, and Since is when it was connected
	// there. The circuit sets them.
	Slot  uint32
	Since time.Time

	kernel *Kernel
	entry  search.Entry // the Kernel's, except for Home
	state  State
	// closed is set once, under Kernel.mu, and read by either owner.
	closed atomic.Bool
	// circuit is guarded by Kernel.mu.
	circuit Circuit
}

// Name returns the name of the channel.
func (ch *Channel) Name() string { return ch.entry.Name }

// Closed reports whether the subscription was closed.
func (ch *Channel) Closed() bool { return ch.closed.Load() }

// SetHome notes the server that has the channel: the prober tries its address when it
// is lost. The zero address means that a server no longer has the channel.
func (ch *Channel) SetHome(server netip.AddrPort) { ch.entry.Home = server }

// Enter changes the state, and the gauges that count it.
func (ch *Channel) Enter(s State) {
	m := ch.kernel.metrics
	if ch.state != closed {
		m.Channels[ch.state].Dec()
	}
	ch.state = s
	if s != closed {
		m.Channels[s].Inc()
	}
}

// Close ends the subscription. No call of the sink begins after it returns. It waits
// for a call in progress: do not call it from a method of the sink, or with a lock that
// those methods take.
func (ch *Channel) Close() {
	if circuit := ch.kernel.unsubscribe(ch); circuit != nil {
		circuit.Detach(ch)
	}
}
