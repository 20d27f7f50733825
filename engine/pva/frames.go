package pva

import (
	"errors"
	"fmt"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// answerHead is the size of the head of an answer, which identifies the operation.
const answerHead = 5

var (
	errSegments = errors.New("the segments of a message are not in order")
	errClient   = errors.New("a message of a client came from the server")
)

// framesLocked handles all complete frames of b. It returns the same values as batch.
func (c *circuit) framesLocked(b []byte) (used, need int, err error) {
	h := &c.header
	limit := uint32(c.client.config.MaxArrayBytes + messageOverhead)
	for {
		used += c.partial.Of(len(b) - used)
		payload, n, err := proto.ReadFrame(b[used:], h, limit)
		switch {
		case err == nil && h.Command == proto.CmdMonitor && h.Flags&^proto.FlagBig == proto.FlagServer:
			c.handleMonitor(h.Order(), payload)
		case errors.Is(err, proto.ErrShort):
			return used, n, nil
		case errors.Is(err, proto.ErrTooLarge):
			if head := min(int(h.Size), answerHead); len(b)-used < n+head {
				return used, n + head, nil
			}
			if err := c.skipTooLarge(h, b[used+n:]); err != nil {
				return used, 0, err
			}
		case err != nil:
			return used, 0, err
		default:
			if err := c.handleFrame(h, payload); err != nil {
				return used, 0, err
			}
		}
		used += n
	}
}

// skipTooLarge skips a frame that is too large if the frame is an answer with values. It
// returns an error for any other message.
func (c *circuit) skipTooLarge(h *proto.Header, head []byte) error {
	if h.Command != proto.CmdMonitor || h.Flags&proto.FlagServer == 0 {
		return fmt.Errorf("%v has a payload of %d bytes", h.Command, h.Size)
	}
	first, _, segmented := h.Segmented()
	switch {
	case segmented && (first == c.segments.open || !first && c.segments.header.Command != proto.CmdMonitor):
		return errSegments
	case segmented && first:
		c.segments.start(h)
		c.segments.add(head[:answerHead], 0) // the rest is not needed
	case segmented:
		c.segments.add(nil, 0)
		if err := c.endSegments(h); err != nil {
			return err
		}
	default:
		c.dropTooLarge(h.Order(), head)
	}
	c.partial.Skip(h.Size, c.now.Add(c.client.config.ConnTimeout))
	return nil
}

// dropTooLarge counts an update that was too large. head has the first bytes of the update.
func (c *circuit) dropTooLarge(o proto.Order, head []byte) {
	r := proto.NewReader(head, o)
	a := proto.ParseAnswer(&r, proto.CmdMonitor)
	s := c.at(a.IOID)
	if s == nil || r.Err() != nil {
		return
	}
	switch {
	case a.Sub == 0:
		c.events++
		c.acknowledge(s, a.IOID)
		if s.state == slotOpen {
			s.stale = true
			c.drop(s, sample.TooLarge)
		}
	case a.Sub&proto.SubInit != 0 && s.state == slotStarting:
		c.lose(a.IOID, proto.ErrTooLarge, slotClearing)
	}
}

// handleFrame handles a frame, except an update that consists of one frame.
func (c *circuit) handleFrame(h *proto.Header, payload []byte) error {
	if control, ok := h.Control(); ok {
		c.handleControl(h, control)
		return nil
	}
	if h.Flags&proto.FlagServer == 0 {
		return errClient
	}
	first, _, segmented := h.Segmented()
	switch {
	case !segmented && !c.segments.open:
		return c.handleMessage(h, payload)
	case !segmented, first == c.segments.open, !first && h.Command != c.segments.header.Command:
		return errSegments
	}
	if first {
		c.segments.start(h)
	}
	c.segments.add(payload, c.client.config.MaxArrayBytes+messageOverhead)
	return c.endSegments(h)
}

// endSegments handles a message in segments if h is the header of its last segment.
func (c *circuit) endSegments(h *proto.Header) error {
	_, last, _ := h.Segmented()
	if !last {
		return nil
	}
	whole, payload, tooLarge := c.segments.end()
	switch {
	case tooLarge && whole.Command != proto.CmdMonitor:
		return fmt.Errorf("%v is too large", whole.Command)
	case tooLarge:
		c.dropTooLarge(whole.Order(), payload)
		return nil
	}
	return c.handleMessage(&whole, payload)
}

// handleControl handles a control message.
func (c *circuit) handleControl(h *proto.Header, control proto.Control) {
	switch control {
	case proto.SetByteOrder:
		c.order.Store(uint32(h.Flags & proto.FlagBig))
	case proto.EchoRequest:
		c.Send(func(dst []byte) []byte { return proto.AppendControl(dst, proto.EchoResponse, c.flags(), h.Size) })
	}
}

// segments is a message that consists of several frames.
type segments struct {
	open     bool
	tooLarge bool
	header   proto.Header // of the first segment
	payload  []byte
}

func (s *segments) start(h *proto.Header) {
	s.open, s.tooLarge, s.header, s.payload = true, false, *h, s.payload[:0]
}

// add appends the payload of a segment. If the message is larger than limit bytes, add keeps
// only its head.
func (s *segments) add(b []byte, limit int) {
	if s.tooLarge || len(s.payload)+len(b) > limit {
		s.tooLarge = true
		b = b[:min(len(b), max(0, answerHead-len(s.payload)))]
	}
	s.payload = append(s.payload, b...)
}

// end returns the message. Its payload is valid until the next message starts.
func (s *segments) end() (h proto.Header, payload []byte, tooLarge bool) {
	s.open = false
	return s.header, s.payload, s.tooLarge
}
