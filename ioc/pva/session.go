package pva

import (
	"errors"
	"fmt"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

// session is one client's circuit.
type session struct {
	*circuit.Circuit
	server *Server
	buf    []byte // scratch for answers and updates

	parts     assembly
	valid     bool               // the connection is validated
	registry  int                // number of types that the client can remember
	known     proto.Types        // types to which the client has given numbers
	sentTypes [sim.NumKinds]bool // the client has the type of the kind under a number

	channels map[uint32]*channel // by the server's ID
	lastSID  uint32
	ops      map[uint32]*operation // by the client's ID
	shapes   map[string]*shape
	slices   []group
	quiet    group // subscriptions without updates
	shut     int   // subscriptions that wait for an acknowledgement
}

func newSession(s *Server, c *circuit.Circuit) *session {
	// The server sends the first message. Circuit flushes it later.
	hello := proto.AppendControl(nil, proto.SetByteOrder, fromServer, 0)
	_ = c.Write(proto.AppendOffer(hello, &proto.Offer{
		ReceiveBuffer: maxRequest, Registry: 1<<15 - 1, Methods: []string{proto.Anonymous, proto.CA},
	}, fromServer))
	return &session{
		Circuit: c, server: s,
		channels: map[uint32]*channel{},
		ops:      map[uint32]*operation{},
		shapes:   map[string]*shape{},
		slices:   make([]group, s.circuits.Schedule.Slices()),
	}
}

// Handle implements circuit.Speaker.
func (c *session) Handle(b []byte) (n int, err error) {
	for {
		var h proto.Header
		payload, size, err := proto.ReadFrame(b[n:], &h, maxRequest)
		if errors.Is(err, proto.ErrShort) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("reading a %v of %d bytes: %w", h.Command, h.Size, err)
		}
		c.buf = c.buf[:0]
		err = c.frame(&h, payload)
		if err != nil {
			err = fmt.Errorf("handling a %v: %w", h.Command, err)
		}
		if err := errors.Join(err, c.Write(c.buf)); err != nil {
			return n, err
		}
		n += size
	}
}

// frame handles a frame and appends the answer to c.buf.
func (c *session) frame(h *proto.Header, payload []byte) error {
	if control, ok := h.Control(); ok {
		switch control {
		case proto.EchoRequest:
			c.buf = proto.AppendControl(c.buf, proto.EchoResponse, fromServer, h.Size)
		case proto.SetMarker:
			c.buf = proto.AppendControl(c.buf, proto.AckMarker, fromServer, h.Size)
		}
		return nil
	}
	payload, complete, err := c.parts.add(h, payload)
	if err != nil || !complete {
		return err
	}
	r := proto.NewReader(payload, h.Order())
	if err := c.request(h.Command, &r, payload); err != nil {
		return err
	}
	return r.Err()
}
