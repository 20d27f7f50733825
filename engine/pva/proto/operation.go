package proto

// These are the subcommands of GET, PUT and MONITOR. Bits that a command does not have are 0.
const (
	// SubInit starts an operation. The request contains the requested fields, and the answer
	// contains the type of the values.
	SubInit = 0x08
	// SubDestroy ends an operation, after the answer to a request or without a request.
	SubDestroy = 0x10
	// SubGet in a PUT requests the value instead of writing it.
	SubGet = 0x40
	// SubPipeline together with SubInit in a MONITOR means that the client will acknowledge
	// updates. In a later MONITOR it acknowledges some updates.
	SubPipeline = 0x80
	// SubStart and SubStop start and stop the updates of a MONITOR.
	SubStart = 0x44
	SubStop  = 0x04
)

// Request is the head of a client's GET, PUT, MONITOR, GET_FIELD or DESTROY_REQUEST. SID is
// the server's number for the channel, and IOID is the client's number for the operation.
type Request struct {
	SID, IOID uint32
	Sub       uint8
}

// ParseRequest parses the head of a GET, PUT or MONITOR. The rest of the message depends on
// Sub.
func ParseRequest(r *Reader) Request {
	return Request{SID: r.Uint32(), IOID: r.Uint32(), Sub: r.Uint8()}
}

// beginRequest appends the head of a GET, PUT or MONITOR.
func beginRequest(dst []byte, c Command, q Request, f Flags) []byte {
	o := f.order()
	dst = o.AppendUint32(o.AppendUint32(Begin(dst, c, f), q.SID), q.IOID)
	return append(dst, q.Sub)
}

// AppendRequest appends a GET, PUT or MONITOR that consists only of its head, such as one with
// SubStart.
func AppendRequest(dst []byte, c Command, q Request, f Flags) []byte {
	start := len(dst)
	return End(beginRequest(dst, c, q, f), start)
}

// AppendInit appends a GET, PUT or MONITOR with SubInit. t and value are the pvRequest, which
// selects the fields. value must have the byte order of f. A value that has only short strings
// is the same in both orders. window is only for a MONITOR with SubPipeline. It is the number
// of updates that the server may send before the client acknowledges one.
func AppendInit(dst []byte, c Command, q Request, t *Type, value []byte, window uint32, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = AppendType(beginRequest(dst, c, q, f), t, o)
	dst = append(dst, value...)
	if c == CmdMonitor && q.Sub&SubPipeline != 0 {
		dst = o.AppendUint32(dst, window)
	}
	return End(dst, start)
}

// AppendAck appends a MONITOR that acknowledges n updates, so that the server may send n more.
func AppendAck(dst []byte, sid, ioid, n uint32, f Flags) []byte {
	start := len(dst)
	dst = beginRequest(dst, CmdMonitor, Request{SID: sid, IOID: ioid, Sub: SubPipeline}, f)
	return End(f.order().AppendUint32(dst, n), start)
}

// AppendDestroyRequest appends a request to end an operation.
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

// HasStatus reports whether a status follows the head. Only updates of a MONITOR have no
// status. The last update, which has SubDestroy, has a status.
func (a Answer) HasStatus(c Command) bool {
	return c != CmdMonitor || a.Sub&(SubInit|SubDestroy) != 0
}

// ParseAnswer parses the head of an answer. A status follows if HasStatus is true. If the
// status is not a failure, the rest depends on Sub. With SubInit it is a type. Otherwise GET
// and MONITOR send the changed fields and their values, and MONITOR also sends the overrun
// fields. The last answer to a MONITOR may end after the status. GET_FIELD has no Sub. Its
// answer is a status and a type.
func ParseAnswer(r *Reader, c Command) (a Answer) {
	a.IOID = r.Uint32()
	if c != CmdGetField {
		a.Sub = r.Uint8()
	}
	return a
}

// BeginAnswer appends the header and the head of an answer. The caller then appends the rest,
// which ParseAnswer describes, and calls End.
func BeginAnswer(dst []byte, c Command, a Answer, f Flags) []byte {
	dst = f.order().AppendUint32(Begin(dst, c, f), a.IOID)
	if c != CmdGetField {
		dst = append(dst, a.Sub)
	}
	return dst
}

// AppendInitAnswer appends the answer to a SubInit or a GET_FIELD. t is the type of the
// values, which is sent only if s is not a failure.
func AppendInitAnswer(dst []byte, c Command, a Answer, s Status, t *Type, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = AppendStatus(BeginAnswer(dst, c, a, f), s, o)
	if s.Err() == nil {
		dst = AppendType(dst, t, o)
	}
	return End(dst, start)
}
