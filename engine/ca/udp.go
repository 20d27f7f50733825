package ca

import (
	"math/rand/v2"
	"net/netip"
	"sync/atomic"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/search"
)

const (
	// sequenceWindow is the number of latest datagrams to which the client accepts answers.
	sequenceWindow = 1 << 16
	// caprotoSequence is the number with which servers of caproto answer every search.
	caprotoSequence = 1
)

// udp sends searches in datagrams and handles the answers.
type udp struct {
	client   *Client
	sequence atomic.Uint32 // of the last datagram
}

func newUDP(c *Client) *udp {
	u := &udp{client: c}
	u.sequence.Store(rand.Uint32())
	return u
}

// sendSearches sends batches to all destinations.
func (u *udp) sendSearches(batches []search.Batch) {
	datagrams := make([][]byte, 0, len(batches))
	for _, b := range batches {
		d := proto.AppendUDPVersion(make([]byte, 0, search.MaxDatagram), u.sequence.Add(1))
		datagrams = append(datagrams, appendBatch(d, b))
	}
	u.client.kernel.Socket().Send(datagrams, nil)
}

// appendBatch appends the SEARCH messages for a batch. It needs no lock, because the names and
// numbers of entries never change.
func appendBatch(dst []byte, b search.Batch) []byte {
	for _, e := range b {
		dst = proto.AppendSearch(dst, e.Name, e.ID, proto.DontReply)
	}
	return dst
}

// handleDatagram handles the messages of one datagram. It stops at a message that does not
// parse, and at a sequence number that does not belong to a recent search. In this case the
// answer is for another client, or much too late.
func (u *udp) handleDatagram(b []byte, from netip.Addr) {
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
			u.client.kernel.Found(answerOf(&h, payload, from))
		}
	}
}

// answerOf converts an answer to SEARCH into a client.Answer. from is the address of the
// sender.
func answerOf(h *proto.Header, payload []byte, from netip.Addr) client.Answer {
	cid, server := proto.ParseSearchReply(h, from)
	return client.Answer{ID: cid, Server: server, Minor: proto.ServerMinor(payload)}
}
