package ca

import (
	"errors"
	"fmt"

	"varve.dev/varve/engine/ca/proto"
)

// maxRequest is the maximum payload of a request in bytes. The server is read-only, so
// requests are small.
const maxRequest = 16 << 10

// noChannel replaces the client's channel ID in an ERROR that does not concern a channel.
const noChannel = ^uint32(0)

// Handle implements circuit.Speaker.
func (c *session) Handle(b []byte) (n int, err error) {
	for {
		var h proto.Header
		payload, size, err := proto.ReadFrame(b[n:], &h, maxRequest)
		if errors.Is(err, proto.ErrShort) {
			return n, nil
		}
		c.buf = c.buf[:0]
		if err != nil {
			c.refuse(&h, proto.StatusTooLarge, "the request is too large")
			err = fmt.Errorf("reading a %v of %d bytes: %w", h.Command, h.Size, err)
		} else {
			err = c.request(&h, payload)
		}
		if err := errors.Join(err, c.Write(c.buf)); err != nil {
			return n, err
		}
		n += size
	}
}

// request handles one request and appends the answer to c.buf.
func (c *session) request(h *proto.Header, payload []byte) error {
	switch h.Command {
	case proto.CmdVersion, proto.CmdHostName, proto.CmdClientName:
	case proto.CmdEcho, proto.CmdReadSync:
		c.buf = proto.AppendHeader(c.buf, proto.Header{Command: h.Command})
	case proto.CmdSearch:
		c.buf = c.server.appendAnswer(c.buf, h, payload)
	case proto.CmdCreateChan:
		c.createChannel(h, payload)
	case proto.CmdClearChannel:
		c.clearChannel(h)
	case proto.CmdReadNotify:
		c.read(h)
	case proto.CmdEventAdd:
		c.subscribe(h, payload)
	case proto.CmdEventCancel:
		c.cancel(h)
	case proto.CmdEventsOff, proto.CmdEventsOn:
		c.paused = h.Command == proto.CmdEventsOff
	case proto.CmdWriteNotify:
		c.buf = proto.AppendWriteReply(c.buf, proto.DBR(h.Type), h.Count, proto.StatusNoWriteAccess, h.P2)
	case proto.CmdWrite:
		c.refuse(h, proto.StatusNoWriteAccess, "the PVs of this server are read-only")
	case proto.CmdRead:
		c.refuse(h, proto.StatusUnavailable, "this server supports only READ_NOTIFY")
	default:
		c.refuse(h, proto.StatusInternal, "invalid request")
		return fmt.Errorf("handling a request: unexpected %v", h.Command)
	}
	return nil
}

// refuse answers a request with an ERROR.
func (c *session) refuse(h *proto.Header, status proto.Status, text string) {
	cid := noChannel
	if ch := c.channels[h.P1]; ch != nil {
		cid = ch.cid
	}
	c.buf = proto.AppendError(c.buf, cid, status, *h, text)
}
