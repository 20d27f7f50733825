package ca

import (
	"errors"
	"fmt"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/sample"
)

// framesLocked handles all complete frames of b. It returns the same values as batch.
func (c *circuit) framesLocked(b []byte) (used, need int, err error) {
	h := &c.header
	maxPayload := uint32(c.client.config.MaxArrayBytes + frameOverhead)
	for {
		used += c.partial.Of(len(b) - used)
		payload, n, err := proto.ReadFrame(b[used:], h, maxPayload)
		switch {
		case err == nil && h.Command == proto.CmdEventAdd && h.Size%8 == 0:
			c.handleEvent(h, payload)
		case errors.Is(err, proto.ErrShort):
			if len(b)-used >= proto.HeaderSize && !h.Command.Valid() {
				return used, n, errUnknown(h) // does not wait for the rest of the frame
			}
			return used, n, nil
		default: // includes ErrTooLarge, which handleMessage handles; n is valid then too
			if err := c.handleMessage(h, payload, err); err != nil {
				return used, 0, err
			}
		}
		used += n
	}
}

// handleEvent delivers an update. This is the hot path: handlePropertyEvent and handleOddEvent
// handle all other cases.
func (c *circuit) handleEvent(h *proto.Header, payload []byte) {
	if uint64(h.P2) >= uint64(len(c.slots)) {
		c.handlePropertyEvent(h, payload)
		return
	}
	c.events++
	s := &c.slots[h.P2]
	if s.state != slotOpen && !c.unblockFor(s, h) {
		return // the channel was closed, or the client may not read it
	}
	if h.Type != uint16(s.event) || h.P1 != uint32(proto.StatusNormal) {
		c.handleOddEvent(s, h)
		return
	}
	var err error
	if c.scratch, err = proto.DecodeTime(&c.sample, s.event, h.Count, s.array, payload, c.scratch); err != nil {
		c.handleOddEvent(s, h)
		return
	}
	if s.text {
		c.sample.Bytes = proto.Text(c.sample.Bytes)
	}
	s.seen = c.second
	if s.check != client.CheckNone {
		c.checks.Updated(&s.check)
	}
	s.sink.Sample(&c.sample)
}

// handleOddEvent handles an EVENT_ADD that is not an update: the confirmation that a
// subscription ended, which has no payload and no status, or a refused read, which ACCESS_RIGHTS
// reports too. It counts any other EVENT_ADD as a lost update.
func (c *circuit) handleOddEvent(s *slot, h *proto.Header) {
	if h.Size > 0 && proto.Status(h.P1) != proto.StatusNoReadAccess {
		c.drop(s, sample.Malformed)
	}
}

// drop counts an update that is not delivered.
func (c *circuit) drop(s *slot, reason sample.Reason) {
	c.client.metrics.Drop(reason)
	s.sink.Dropped(reason, 1)
}

// handleMessage handles any message except an update. tooLarge is an error if the payload is
// too large, and was therefore not read. The returned error ends the circuit.
func (c *circuit) handleMessage(h *proto.Header, payload []byte, tooLarge error) error {
	if h.Size%8 != 0 {
		return fmt.Errorf("%v has a payload of %d bytes, not a multiple of 8", h.Command, h.Size)
	}
	if tooLarge != nil {
		return c.skipTooLarge(h)
	}
	switch h.Command {
	case proto.CmdVersion:
		c.noteVersion(uint16(min(h.Count, proto.Minor)))
	case proto.CmdEcho: // shows only that the server is alive
	case proto.CmdAccessRights:
		c.handleAccessRights(h.P1, proto.Rights(h.P2))
	case proto.CmdCreateChan:
		c.handleCreated(h)
	case proto.CmdCreateChFail:
		c.lose(h.P1, errRefused, slotFree)
	case proto.CmdServerDisconn:
		c.lose(h.P1, errDeleted, slotFree)
	case proto.CmdClearChannel:
		c.handleCleared(h.P2)
	case proto.CmdReadNotify:
		c.handleReadNotify(h, payload)
	case proto.CmdSearch:
		a := answerOf(h, payload, c.Server.Addr())
		a.Origin.Circuit = c.Link
		c.answers = append(c.answers, a)
	case proto.CmdError:
		return c.handleError(h, payload)
	case proto.CmdNotFound, proto.CmdWriteNotify: // not for this client
	default:
		return errUnknown(h)
	}
	return nil
}

func errUnknown(h *proto.Header) error {
	return fmt.Errorf("%v is not a message of a server", h.Command)
}

// skipTooLarge skips a frame that is too large if the frame is an answer with values. It
// returns an error for any other message.
func (c *circuit) skipTooLarge(h *proto.Header) error {
	switch h.Command {
	case proto.CmdEventAdd:
		c.events++
		if s := c.at(h.P2); s != nil && s.state == slotOpen {
			c.drop(s, sample.TooLarge)
		}
	case proto.CmdReadNotify:
		if s := c.at(h.P2); s != nil && s.check == client.CheckAsked {
			c.checks.Failed(&s.check)
		}
	default:
		return fmt.Errorf("%v has a payload of %d bytes", h.Command, h.Size)
	}
	c.partial.Skip(h.Size, c.now.Add(c.client.config.ConnTimeout))
	return nil
}

// handleError handles an ERROR: a request that the server refused.
func (c *circuit) handleError(h *proto.Header, payload []byte) error {
	f, err := proto.ParseError(h, payload)
	if err != nil {
		return fmt.Errorf("decoding ERROR: %w", err)
	}
	switch f.Request.Command {
	case proto.CmdEventAdd:
		c.handleRefusedEvents(f)
	case proto.CmdCreateChan:
		c.lose(f.Request.P1, f, slotFree)
	case proto.CmdClearChannel:
		c.handleCleared(f.Request.P2)
	case proto.CmdReadNotify:
		c.handleReadNotify(&proto.Header{Type: f.Request.Type, P1: uint32(f.Status), P2: f.Request.P2}, nil)
	default:
		c.client.config.Log.Debug("request refused", "server", c.Server, "err", f)
	}
	return nil
}

// handleRefusedEvents handles the refusal of a subscription.
func (c *circuit) handleRefusedEvents(f *proto.Failure) {
	id := f.Request.P2 &^ propertyBit
	switch s := c.at(id); {
	case s == nil || s.state == slotClearing:
	case f.Request.P2 != id:
		c.readProperties(s, id)
	default:
		c.lose(id, f, slotClearing)
	}
}

// noteVersion records the minor revision that the server sends as a greeting.
func (c *circuit) noteVersion(minor uint16) {
	c.minor = max(c.minor, minor)
	c.SetGreeted(minor >= proto.MinorTCPSearch)
}
