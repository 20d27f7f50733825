package proto

// Subcommands of GET, PUT and MONITOR. Bits that a command does not have are 0.
const (
	// SubInit begins an operation. The request contains the requested fields, the answer the
	// type of the values.
	SubInit = 0x08
	// SubDestroy ends an operation, after the answer to it or by itself.
	SubDestroy = 0x10
	// SubGet in PUT requests the value instead.
	SubGet = 0x40
	// SubPipeline in the SubInit of MONITOR means that the client will acknowledge updates. In
	// a later MONITOR it acknowledges some.
	SubPipeline = 0x80
	// SubStart and SubStop begin and end the updates of MONITOR.
	SubStart = 0x44
	SubStop  = 0x04
)

// Request is the head of a client's GET, PUT, MONITOR, GET_FIELD or
// DESTROY_REQUEST: the server's number of the channel, and the client's of the
// operation.
type Request struct {
	SID, IOID uint32
	Sub       uint8
}

// ParseRequest takes the head of a GET, PUT or MONITOR; what follows depends on Sub.
func ParseRequest(r *Reader) Request {
	return Request{SID: r.Uint32(), IOID: r.Uint32(), Sub: r.Uint8()}
}

// beginRequest appends the head of a GET, PUT or MONITOR.
func beginRequest(dst []byte, c Command, q Request, f Flags) []byte {
	o := f.order()
	dst = o.AppendUint32(o.AppendUint32(Begin(dst, c, f), q.SID), q.IOID)
	return append(dst, q.Sub)
}

// AppendRequest appends a GET, PUT or MONITOR that is its head only, such as
// SubStart.
func AppendRequest(dst []byte, c Command, q Request, f Flags) []byte {
	start := len(dst)
	return End(beginRequest(dst, c, q, f), start)
}

// AppendInit appends a GET, PUT or MONITOR with SubInit: t and value are the pvRequest, which
// selects the fields. value is in the byte order of f; one of short strings is the same in
// both. window, of MONITOR with SubPipeline, is the number of updates that the server may send
// before the client acknowledges one.
func AppendInit(dst []byte, c Command, q Request, t *Type, value []byte, window uint32, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = AppendType(beginRequest(dst, c, q, f), t, o)
	dst = append(dst, value...)
	if c == CmdMonitor && q.Sub&SubPipeline != 0 {
		dst = o.AppendUint32(dst, window)
	}
	return End(dst, start)
}

// AppendAck appends a MONITOR that acknowledges n updates, so that the server may
// send as many more.
func AppendAck(dst []byte, sid, ioid, n uint32, f Flags) []byte {
	start := len(dst)
	dst = beginRequest(dst, CmdMonitor, Request{SID: sid, IOID: ioid, Sub: SubPipeline}, f)
	return End(f.order().AppendUint32(dst, n), start)
}

// AppendDestroyRequest appends the end of an operation.
func AppendDestroyRequest(dst []byte, sid, ioid uint32, f Flags) []byte {
	o, start := f.order(), len(dst)
	return End(o.AppendUint32(o.AppendUint32(Begin(dst, CmdDestroyRequest, f), sid), ioid), start)
}

// AppendGetField appends a request for the type of a channel, or of one of its fields.
func AppendGetField(dst []byte, sid, ioid uint32, field string, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = o.AppendUint32(o.AppendUint32(Begin(dst, CmdGetField, f), sid), ioid)
	return End(AppendString(dst, field, o), start)
}

// Answer is the head of a server's GET, PUT, MONITOR or GET_FIELD.
type Answer struct {
	IOID uint32
	Sub  uint8
}

// HasStatus reports whether a status comes after the head. Only the updates of
// MONITOR have none; but the last one, with SubDestroy, has.
func (a Answer) HasStatus(c Command) bool {
	return c != CmdMonitor || a.Sub&(SubInit|SubDestroy) != 0
}

// ParseAnswer parses the head of an answer. A status follows if HasStatus is true. If the
// status is no failure, the rest depends on Sub. After SubInit it is a type; otherwise GET and
// MONITOR send the changed fields and their values, and MONITOR also the overrun fields. The
// last answer to MONITOR may end after the status. GET_FIELD has no Sub: its answer is a
// status and a type.
func ParseAnswer(r *Reader, c Command) (a Answer) {
	a.IOID = r.Uint32()
	if c != CmdGetField {
		a.Sub = r.Uint8()
	}
	return a
}

// BeginAnswer appends the header and the head of an answer; the caller appends the rest, which
// ParseAnswer documents, and calls End.
func BeginAnswer(dst []byte, c Command, a Answer, f Flags) []byte {
	dst = f.order().AppendUint32(Begin(dst, c, f), a.IOID)
	if c != CmdGetField {
		dst = append(dst, a.Sub)
	}
	return dst
}

// AppendInitAnswer appends the answer to a SubInit, or to GET_FIELD: t is the type of
// the values if s is OK.
func AppendInitAnswer(dst []byte, c Command, a Answer, s Status, t *Type, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = AppendStatus(BeginAnswer(dst, c, a, f), s, o)
	if s.Err() == nil {
		dst = AppendType(dst, t, o)
	}
	return End(dst, start)
}
