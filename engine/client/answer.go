package client

import (
	"net/netip"
	"time"
)

// Answer is an answer to a search. It says that a server has a channel.
//
// The server may be at any address, also in other networks: a name server or a gateway answers
// for servers that the client cannot search for. The client trusts an accepted answer so far
// that it connects to this address by TCP and requests the channel there. It sends the server
// the names of channels, its user and its host, and archives what the server sends.
type Answer struct {
	ID     uint32         // the channel's number in searches
	Server netip.AddrPort // the address to connect to
	Origin Origin
	// Identity is the same for all addresses of a server. It is empty if the protocol has no
	// such identity.
	Identity string
	// Minor is the server's minor revision of Channel Access, or 0 if it is unknown.
	Minor uint16
}

// Origin says what shows that an answer is from a host that got the search.
type Origin struct {
	// Circuit is the circuit over which the answer came, or nil if it came as a datagram.
	Circuit *Link
	// Sequence is the number of a search that the answer repeats. Sequenced is false if the
	// answer repeats none.
	Sequence  uint32
	Sequenced bool
	// Sender is the address from which the answer came, and Searched means that searches go to
	// this address.
	Sender   netip.Addr
	Searched bool
}

// refusal is the reason for which the client does not use an answer.
type refusal uint8

const (
	accepted refusal = iota
	unknownChannel
	malformedAnswer
	notAsked
	wrongSequence
	foreignAddress
	alreadyFound
	serverPenalty
	tooManyCircuits
	tooManyCircuitsToHost

	numRefusals
)

var refusalNames = [numRefusals]string{
	unknownChannel:        "unknown_channel",        // no channel has the number
	malformedAnswer:       "malformed",              // the server has no port
	notAsked:              "not_asked",              // no search for the channel was sent on the circuit
	wrongSequence:         "wrong_sequence",         // no recent search has the sequence number
	foreignAddress:        "foreign_address",        // there is no sequence number, and no searches go to the address
	alreadyFound:          "already_found",          // another answer came first
	serverPenalty:         "server_penalty",         // the server refuses or breaks circuits
	tooManyCircuits:       "too_many_circuits",      // Config.MaxCircuits
	tooManyCircuitsToHost: "too_many_circuits_host", // Config.MaxCircuitsPerHost
}

// Found takes a channel from the search and attaches it to the circuit to the server that has
// the channel. The caller must not hold the lock of any circuit, because Found locks the
// circuit to this server.
func (k *Kernel) Found(a Answer) {
	circuit, ch, refused := k.assign(&a)
	switch {
	case refused != accepted:
		k.metrics.refused[refused].Inc()
	case !circuit.Attach(ch, a):
		k.SearchAgain(ch)
	}
}

// assign gives the channel of an answer to the circuit to its server.
func (k *Kernel) assign(a *Answer) (circuit Circuit, ch *Channel, refused refusal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ch = k.channels[a.ID]
	if refused = k.judgeLocked(ch, a); refused != accepted {
		return nil, nil, refused
	}
	if circuit = k.circuits[a.Server]; circuit == nil {
		if refused = k.refuseLocked(a.Server); refused != accepted {
			return nil, nil, refused
		}
		circuit = k.startLocked(a.Server, nil)
	}
	circuit.link().identity = a.Identity
	k.assignLocked(ch, circuit)
	return circuit, ch, accepted
}

// judgeLocked decides whether to use an answer. ch is the channel with its number, or nil.
func (k *Kernel) judgeLocked(ch *Channel, a *Answer) refusal {
	switch {
	case ch == nil || ch.closed.Load():
		return unknownChannel
	case a.Server.Port() == 0:
		return malformedAnswer
	}
	if refused := k.judgeOriginLocked(ch, a); refused != accepted {
		return refused
	}
	if ch.circuit == nil {
		return accepted
	}
	used := ch.circuit.link()
	if a.Identity == "" || a.Identity != used.identity { // otherwise this is another address of the same server
		k.duplicates.Report(&ch.entry, used.Server, a.Server)
	}
	return alreadyFound
}

// judgeOriginLocked decides whether an answer is from a host that got the search for a
// channel.
func (k *Kernel) judgeOriginLocked(ch *Channel, a *Answer) refusal {
	switch o := &a.Origin; {
	case o.Circuit != nil:
		if !o.Circuit.pinned && !ch.entry.LostAt(o.Circuit.Server) {
			return notAsked
		}
	case o.Sequenced:
		if !k.queue.Answers(&ch.entry, o.Sequence) {
			return wrongSequence
		}
	case !o.Searched:
		k.warnings.Warn("answer to a search ignored: it repeats no sequence number, and no searches go to its address; add the address to the address list if it belongs to a server",
			"pv", ch.entry.Name, "from", o.Sender, "server", a.Server)
		return foreignAddress
	}
	return accepted
}

// refuseLocked decides whether the client may start a circuit to a server.
func (k *Kernel) refuseLocked(server netip.AddrPort) refusal {
	switch {
	case k.penalties.Active(server, time.Now()):
		return serverPenalty
	case len(k.circuits) >= k.config.MaxCircuits:
		k.warnings.Warn("server not connected: the client has too many circuits; use a gateway, or more engines",
			"server", server, "limit", k.config.MaxCircuits)
		return tooManyCircuits
	case k.perHost[server.Addr()] >= k.config.MaxCircuitsPerHost:
		k.warnings.Warn("server not connected: the client has too many circuits to this host; use a gateway, or more engines",
			"server", server, "limit", k.config.MaxCircuitsPerHost)
		return tooManyCircuitsToHost
	}
	return accepted
}
