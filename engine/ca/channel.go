package ca

import (
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/search"
)

// state is where a channel is in its life:
//
//	Subscribe ─▶ searching ──found──▶ connecting ──CREATE_CHAN──▶ connected
//	                 ▲                     │                       or unusable
//	                 └─────────────────────┴─ circuit lost, CREATE_CH_FAIL, SERVER_DISCONN ─┘
//
// and closed from anywhere, for good.
type state uint8

const (
	searching state = iota
	connecting
	connected
	unusable // a type that can not be archived, or no read access
	closed

	numStates = int(closed)
)

var stateNames = [numStates]string{"searching", "connecting", "connected", "unusable"}

// channel is one subscription. Its owner is the client, under Client.mu, while
// circuit is nil, and the circuit, under circuit.mu, from then on.
type channel struct {
	client *Client
	search search.Entry // the client's, but for Home; with the name
	mask   uint16
	sink   capture.Sink

	// closed is set once, under Client.mu, and read by either owner.
	closed atomic.Bool
	// circuit is guarded by Client.mu.
	circuit *circuit

	state state
	slot  uint32    // on the circuit
	since time.Time // of being connected
}

// enter changes the state and the gauges that count it.
func (ch *channel) enter(s state) {
	m := ch.client.metrics
	if ch.state != closed {
		m.channels[ch.state].Dec()
	}
	ch.state = s
	if s != closed {
		m.channels[s].Inc()
	}
}

// Close ends the subscription. No call of the sink begins after it returned. It
// waits for a call that is under way: do not call it from a method of the sink,
// nor with a lock that those take.
func (ch *channel) Close() {
	if circuit := ch.client.forget(ch); circuit != nil {
		circuit.detach(ch)
	}
}
