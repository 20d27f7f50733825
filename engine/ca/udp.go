package ca

import (
	"math/rand/v2"
	"net/netip"
	"sync/atomic"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/search"
)

const (
	// sequenceWindow is how many datagrams back an answer may be for.
	sequenceWindow = 1 << 16
	// caprotoSequence is what servers of caproto answer with, whatever they were sent.
	caprotoSequence = 1
)

// udp sends searches in datagrams and receives the answers.
type udp struct {
	*search.Socket
	client   *Client
	sequence atomic.Uint32 // of the last datagram
}

func newUDP(c *Client) (*udp, error) {
	u := &udp{client: c}
	u.sequence.Store(rand.Uint32())
	config, m := &c.config, c.metrics
	var auto []netip.Addr
	var err error
	if config.AutoAddrList {
		if auto, err = search.Broadcasts(); err != nil {
			return nil, err
		}
	}
	to, err := search.NewDestinations(config.AddrList, config.ServerPort, config.Resolve, auto...)
	if err != nil {
		return nil, err
	}
	to.Changed, to.Log, to.Errors = c.hastenSearch, config.Log, m.lookupErrors
	u.Socket, err = search.NewSocket(to, config.Log, m.datagrams, m.datagramErrors)
	return u, err
}

func (u *udp) start() {
	u.client.wg.Go(func() { u.Receive(u.client.ctx, u.datagram) })
	u.client.wg.Go(func() { u.To.Run(u.client.ctx) })
}

// search sends batches to all destinations.
func (u *udp) search(batches []search.Batch) {
	datagrams := make([][]byte, 0, len(batches))
	for _, b := range batches {
		d := proto.AppendUDPVersion(make([]byte, 0, search.MaxDatagram), u.sequence.Add(1))
		datagrams = append(datagrams, appendBatch(d, b))
	}
	u.Send(datagrams, nil)
}

// datagram handles the messages of one datagram. What does not parse ends it, as
// does a sequence number that is not of a recent search: the answer is to
// somebody else, or far too late.
func (u *udp) datagram(b []byte, from netip.Addr) {
	for len(b) > 0 {
		var h proto.Header
		payload, n, err := proto.ReadFrame(b, &h, uint32(len(b)))
		if err != nil {
			return
		}
		b = b[n:]
		if seq, ok := proto.Sequence(&h); ok && u.sequence.Load()-seq >= sequenceWindow && seq != caprotoSequence {
			return
		}
		if h.Command == proto.CmdSearch {
			cid, server := proto.ParseSearchReply(&h, from)
			u.client.found(answer{cid: cid, server: server, minor: proto.ServerMinor(payload)})
		}
	}
}
