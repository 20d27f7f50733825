package client

import (
	"net/netip"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/search"
)

// State is the state of a channel:
//
//	Subscribe ─▶ Searching ──found──▶ Connecting ──subscribed──▶ Connected
//	                 ▲                     │                      or Unusable
//	                 └─────────────────────┴─ circuit lost, or channel refused or deleted ─┘
//
// A channel can be closed in any state. It then stays closed.
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

// Channel is one subscription. While the client searches for the channel, the Kernel owns it,
// and the Kernel's lock guards it. After Circuit.Attach the Circuit owns it, and the circuit's
// lock guards it.
type Channel struct {
	Sink    capture.Sink
	Options capture.SubscribeOptions

	// Slot is the channel's slot on its circuit, and Since is the time at which it was
	// connected there. The circuit sets both.
	Slot  uint32
	Since time.Time

	kernel *Kernel
	entry  search.Entry // owned by the Kernel, except for Home
	state  State
	// closed is set once, under Kernel.mu. Both owners read it.
	closed atomic.Bool
	// circuit is guarded by Kernel.mu.
	circuit Circuit
}

// Name returns the name of the channel.
func (ch *Channel) Name() string { return ch.entry.Name }

// Closed reports whether the subscription was closed.
func (ch *Channel) Closed() bool { return ch.closed.Load() }

// SetHome sets the server that has the channel. When the client loses the channel, the prober
// tries the address of this server. The zero address means that the server no longer has the
// channel.
func (ch *Channel) SetHome(server netip.AddrPort) { ch.entry.Home = server }

// Enter changes the state, and updates the gauges that count channels by state.
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

// Close ends the subscription. No call of the sink begins after Close has returned. Close
// waits for a call in progress, so it must not be called from a method of the sink, or with a
// lock that such a method takes.
func (ch *Channel) Close() {
	if circuit := ch.kernel.unsubscribe(ch); circuit != nil {
		circuit.Detach(ch)
	}
}
