package ca

import (
	"net/netip"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/search"
)

// caprotoSequence is the number with which servers of caproto answer every search.
const caprotoSequence = 1

// udp sends searches in datagrams and handles the answers.
type udp struct {
	client *Client
}

// sendSearches sends batches to all destinations.
func (u *udp) sendSearches(batches []search.Batch) {
	datagrams := make([][]byte, 0, len(batches))
	for _, b := range batches {
		d := proto.AppendUDPVersion(make([]byte, 0, search.MaxDatagram), b.Sequence)
		datagrams = append(datagrams, appendBatch(d, b))
	}
	u.client.kernel.Socket().Send(datagrams, nil)
}

// appendBatch appends the SEARCH messages for a batch. It needs no lock, because the names and
// numbers of entries never change.
func appendBatch(dst []byte, b search.Batch) []byte {
	for _, e := range b.Entries {
		dst = proto.AppendSearch(dst, e.Name, e.ID, proto.DontReply)
	}
	return dst
}

// handleDatagram handles the messages of one datagram. It stops at a message that does not
// parse.
//
// Servers from CA 4.11 on (EPICS base 3.14) repeat the sequence number of the search in a
// VERSION message. A server that does so may answer from any address, for example from
// another interface of its host. caproto, and older servers, do not repeat the number: their
// answer must come from an address to which searches go.
func (u *udp) handleDatagram(b []byte, from netip.Addr) {
	origin := client.Origin{Sender: from, Searched: u.client.kernel.Socket().To.Reach(from)}
	for len(b) > 0 {
		var h proto.Header
		payload, n, err := proto.ReadFrame(b, &h, uint32(len(b)))
		if err != nil {
			return
		}
		b = b[n:]
		if sequence, ok := proto.Sequence(&h); ok && sequence != caprotoSequence {
			origin.Sequence, origin.Sequenced = sequence, true
		}
		if h.Command == proto.CmdSearch {
			a := answerOf(&h, payload, from)
			a.Origin = origin
			u.client.kernel.Found(a)
		}
	}
}

// answerOf converts an answer to SEARCH into a client.Answer. from is the address of the
// sender.
func answerOf(h *proto.Header, payload []byte, from netip.Addr) client.Answer {
	cid, server := proto.ParseSearchReply(h, from)
	return client.Answer{ID: cid, Server: server, Minor: proto.ServerMinor(payload)}
}
