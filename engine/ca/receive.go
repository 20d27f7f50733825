package ca

import (
	"errors"
	"fmt"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
)

// frames handles all whole frames of b, as batch does. It needs c.mu.
func (c *circuit) frames(b []byte) (used, need int, err error) {
	h := &c.header
	maxPayload := uint32(c.client.config.MaxArrayBytes + frameOverhead)
	for {
		used += c.partial.Of(len(b) - used)
		payload, n, err := proto.ReadFrame(b[used:], h, maxPayload)
		switch {
		case err == nil && h.Command == proto.CmdEventAdd && h.Size%8 == 0:
			c.event(h, payload)
		case errors.Is(err, proto.ErrShort):
			if len(b)-used >= proto.HeaderSize && !h.Command.Valid() {
				return used, n, errUnknown(h) // do not wait for the rest of it
			}
			return used, n, nil
		default: // ErrTooLarge, which n fits too, is seen by message
			if err := c.message(h, payload, err); err != nil {
				return used, 0, err
			}
		}
		used += n
	}
}

// event delivers an update. This is the hot path: everything else is in
// propertyEvent and oddEvent.
func (c *circuit) event(h *proto.Header, payload []byte) {
	if uint64(h.P2) >= uint64(len(c.slots)) {
		c.propertyEvent(h, payload)
		return
	}
	c.events++
	s := &c.slots[h.P2]
	if s.state != slotOpen && !c.allowed(s, h) {
		return // its channel was closed meanwhile, or may not be read
	}
	if h.Type != uint16(s.event) || h.P1 != uint32(proto.StatusNormal) {
		c.oddEvent(s, h)
		return
	}
	var err error
	if c.scratch, err = proto.DecodeTime(&c.sample, s.event, h.Count, s.array, payload, c.scratch); err != nil {
		c.oddEvent(s, h)
		return
	}
	if s.text {
		c.sample.Bytes = proto.Text(c.sample.Bytes)
	}
	s.seen = c.second
	s.sink.Sample(&c.sample)
}

// oddEvent handles an EVENT_ADD that is no update. The confirmation of a
// cancelled subscription has no payload, and of reading that is not allowed
// ACCESS_RIGHTS tells; any other is an update that was lost.
func (c *circuit) oddEvent(s *slot, h *proto.Header) {
	status := proto.Status(h.P1)
	if status != proto.StatusNoReadAccess && (h.Size > 0 || !status.OK()) {
		c.drop(s, sample.Malformed)
	}
}

func (c *circuit) drop(s *slot, reason sample.Reason) {
	c.client.metrics.dropped[reason].Inc()
	s.sink.Dropped(reason, 1)
}

// message handles any message but an update. tooLarge is set if the payload is
// still to come and too large to take. The error ends the circuit.
func (c *circuit) message(h *proto.Header, payload []byte, tooLarge error) error {
	if h.Size%8 != 0 {
		return fmt.Errorf("%v has a payload of %d bytes, not a multiple of 8", h.Command, h.Size)
	}
	if tooLarge != nil {
		return c.tooLarge(h)
	}
	switch h.Command {
	case proto.CmdVersion:
		c.version(uint16(min(h.Count, proto.Minor)))
	case proto.CmdEcho: // that it came is all
	case proto.CmdAccessRights:
		c.accessRights(h.P1, proto.Rights(h.P2))
	case proto.CmdCreateChan:
		c.created(h)
	case proto.CmdCreateChFail:
		c.lose(h.P1, errRefused, slotFree)
	case proto.CmdServerDisconn:
		c.lose(h.P1, errDeleted, slotFree)
	case proto.CmdClearChannel:
		c.cleared(h.P2)
	case proto.CmdReadNotify:
		c.readNotified(h, payload)
	case proto.CmdSearch:
		cid, server := proto.ParseSearchReply(h, c.server.Addr())
		c.answers = append(c.answers, answer{cid: cid, server: server, minor: proto.ServerMinor(payload)})
	case proto.CmdError:
		return c.failed(h, payload)
	case proto.CmdNotFound, proto.CmdWriteNotify: // of no use
	default:
		return errUnknown(h)
	}
	return nil
}

func errUnknown(h *proto.Header) error {
	return fmt.Errorf("%v is not a message of a server", h.Command)
}

// tooLarge skips a frame. Only answers with
// values can rightly be large.
func (c *circuit) tooLarge(h *proto.Header) error {
	switch h.Command {
	case proto.CmdEventAdd:
		c.events++
		if s := c.at(h.P2); s != nil && s.state == slotOpen {
			c.drop(s, sample.TooLarge)
		}
	case proto.CmdReadNotify:
	default:
		return fmt.Errorf("%v has a payload of %d bytes", h.Command, h.Size)
	}
	c.partial.Skip(h.Size, c.now.Add(c.client.config.ConnTimeout))
	return nil
}

// failed handles an ERROR: a request that the server refused.
func (c *circuit) failed(h *proto.Header, payload []byte) error {
	f, err := proto.ParseError(h, payload)
	if err != nil {
		return fmt.Errorf("decoding ERROR: %w", err)
	}
	switch f.Request.Command {
	case proto.CmdEventAdd:
		c.refused(f)
	case proto.CmdCreateChan:
		c.lose(f.Request.P1, f, slotFree)
	case proto.CmdClearChannel:
		c.cleared(f.Request.P2)
	default:
		c.client.config.Log.Debug("request refused", "server", c.server, "err", f)
	}
	return nil
}

// refused handles the refusal of a subscription.
func (c *circuit) refused(f *proto.Failure) {
	id := f.Request.P2 &^ propertyBit
	switch s := c.at(id); {
	case s == nil || s.state == slotClearing:
	case f.Request.P2 != id:
		c.readProperties(s, id)
	default:
		c.lose(id, f, slotClearing)
	}
}

// version notes the minor revision that the server greets with.
func (c *circuit) version(minor uint16) {
	c.minor = max(c.minor, minor)
	c.client.greeted(c, minor >= proto.MinorTCPSearch)
}
