package pva

import (
	"slices"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/ioc/sim"
)

// operation is a GET or MONITOR that a client has started.
type operation struct {
	command proto.Command
	sid     uint32
	pv      sim.PV
	shape   *shape

	// The following fields are for a MONITOR.
	pipeline bool   // the client acknowledges updates
	window   uint32 // number of updates that may be sent, while a pipeline is stopped
	place    place
	started  bool
}

// begin handles the SubInit of a GET or MONITOR. It returns the operation, or nil if it
// refuses the request.
func (c *session) begin(cmd proto.Command, q proto.Request, r *proto.Reader) *operation {
	wanted := r.Type(&c.known)
	if wanted != nil {
		c.buf = r.Value(c.buf, wanted, &c.known)[:len(c.buf)] // the server ignores all options
	}
	op := &operation{command: cmd, sid: q.SID}
	if q.Sub&proto.SubPipeline != 0 && cmd == proto.CmdMonitor {
		op.pipeline, op.window = true, r.Uint32()
	}
	if r.Err() != nil {
		return nil
	}
	ch := c.channels[q.SID]
	switch {
	case ch == nil:
		c.fail(cmd, q, "no such channel")
		return nil
	case c.ops[q.IOID] != nil:
		c.fail(cmd, q, "the request ID is already in use")
		return nil
	case len(c.ops) >= maxOperations:
		c.fail(cmd, q, "too many operations")
		return nil
	}
	shape, err := c.shape(ch.pv.Kind, wanted)
	if err != nil {
		c.fail(cmd, q, err.Error())
		return nil
	}
	c.Busy()
	op.pv, op.shape = ch.pv, shape
	c.ops[q.IOID] = op
	ch.ops = append(ch.ops, q.IOID)
	c.answerType(cmd, q, ch.pv.Kind)
	return op
}

// shape returns the shape of a kind for a pvRequest.
func (c *session) shape(k sim.Kind, wanted *proto.Type) (*shape, error) {
	l := c.server.layouts[k]
	mask, err := l.mask(wanted)
	if err != nil {
		return nil, err
	}
	key := string(proto.AppendBitSet([]byte{byte(k)}, mask, proto.LittleEndian))
	s := c.shapes[key]
	if s == nil {
		if len(c.shapes) >= maxShapes {
			return nil, errTooManyShapes
		}
		s = newShape(l, mask)
		c.shapes[key] = s
	}
	return s, nil
}

// get handles GET.
func (c *session) get(r *proto.Reader) {
	q := proto.ParseRequest(r)
	if q.Sub&proto.SubInit != 0 {
		c.begin(proto.CmdGet, q, r)
		return
	}
	op := c.ops[q.IOID]
	if r.Err() != nil {
		return
	}
	if op == nil || op.command != proto.CmdGet {
		c.fail(proto.CmdGet, q, "no such operation")
		return
	}
	tick, at := c.Current(op.pv) // even if updates are late
	word, tag := sampleOf(op.pv, tick)
	start := len(c.buf)
	c.buf = op.shape.template(whole, tag, at).append(c.buf, q.IOID, c.server.set, op.pv, tick, word)
	becomeGet(c.buf[start:], q.Sub)
	if q.Sub&proto.SubDestroy != 0 {
		c.end(q.IOID)
	}
}

// becomeGet converts a MONITOR to the answer to a GET. A GET has a status after its head
// instead of overrun fields at its end, so the size is the same.
func becomeGet(m []byte, sub uint8) {
	const statusOK = 0xff
	m[3], m[headSize-1] = byte(proto.CmdGet), sub
	copy(m[headSize+1:], m[headSize:len(m)-1])
	m[headSize] = statusOK
}

// endRequest handles DESTROY_REQUEST and CANCEL_REQUEST, which have no answer.
func (c *session) endRequest(cmd proto.Command, r *proto.Reader) {
	_, ioid := r.Uint32(), r.Uint32()
	op := c.ops[ioid]
	switch {
	case r.Err() != nil || op == nil: // the channel may have ended already
	case cmd == proto.CmdCancelRequest:
		c.stop(op)
	default:
		c.end(ioid)
	}
}

// end ends an operation.
func (c *session) end(ioid uint32) {
	op := c.ops[ioid]
	c.stop(op)
	if op.command == proto.CmdMonitor {
		c.Subscribed(-1)
	}
	delete(c.ops, ioid)
	ch := c.channels[op.sid]
	if i := slices.Index(ch.ops, ioid); i >= 0 {
		ch.ops = slices.Delete(ch.ops, i, i+1)
	}
}
