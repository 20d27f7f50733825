package proto

import "encoding/binary"

// AppendVersion appends the first message of a client on a circuit. priority, from 0 to 99, is
// the priority that the client requests.
func AppendVersion(dst []byte, priority uint16) []byte {
	return AppendHeader(dst, Header{Command: CmdVersion, Type: priority, Count: Minor})
}

// AppendHostName appends the client's host name, for the server's access rules.
func AppendHostName(dst []byte, host string) []byte {
	return appendText(dst, Header{Command: CmdHostName}, host)
}

// AppendClientName appends the client's user name, for the server's access rules.
func AppendClientName(dst []byte, user string) []byte {
	return appendText(dst, Header{Command: CmdClientName}, user)
}

// AppendCreateChan appends a request to create a channel. cid is the client's ID for it.
func AppendCreateChan(dst []byte, name string, cid uint32) []byte {
	return appendText(dst, Header{Command: CmdCreateChan, P1: cid, P2: Minor}, name)
}

// AppendClearChannel appends a request to delete a channel. sid is the server's ID for it, and
// cid the client's ID.
func AppendClearChannel(dst []byte, sid, cid uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdClearChannel, P1: sid, P2: cid})
}

// AppendReadNotify appends a request to read a channel once. The answer repeats ioid.
func AppendReadNotify(dst []byte, t DBR, count, sid, ioid uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdReadNotify, Type: uint16(t), Count: count, P1: sid, P2: ioid})
}

// AppendWriteNotify appends a request to write a channel. The server confirms when it has
// written the value. value is a payload of AppendValue in plain form.
func AppendWriteNotify(dst []byte, t DBR, count, sid, ioid uint32, value []byte) []byte {
	h := Header{Command: CmdWriteNotify, Type: uint16(t), Size: uint32(len(value)), Count: count, P1: sid, P2: ioid}
	return append(AppendHeader(dst, h), value...)
}

// eventMaskSize is the size of EVENT_ADD's payload: three floats that servers
// ignore, the mask, and padding.
const (
	eventMaskSize   = 16
	eventMaskOffset = 12
)

// AppendEventAdd appends a request to subscribe to a channel's updates of the event classes in
// mask (DBE_*). The updates have the ID sub.
func AppendEventAdd(dst []byte, t DBR, count, sid, sub uint32, mask uint16) []byte {
	dst = AppendHeader(dst, Header{
		Command: CmdEventAdd, Type: uint16(t), Size: eventMaskSize, Count: count, P1: sid, P2: sub,
	})
	dst = appendZeros(dst, eventMaskOffset)
	dst = binary.BigEndian.AppendUint16(dst, mask)
	return appendZeros(dst, eventMaskSize-eventMaskOffset-2)
}

// ParseEventMask returns the mask in the payload of an EVENT_ADD request.
func ParseEventMask(payload []byte) (uint16, error) {
	if len(payload) < eventMaskOffset+2 {
		return 0, ErrTruncated
	}
	return binary.BigEndian.Uint16(payload[eventMaskOffset:]), nil
}

// AppendEventCancel appends a request to end the subscription sub. The server confirms it with
// an EVENT_ADD that has no payload. t and count must be those of the request that started the
// subscription.
func AppendEventCancel(dst []byte, t DBR, count, sid, sub uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdEventCancel, Type: uint16(t), Count: count, P1: sid, P2: sub})
}

// AppendEcho appends an ECHO. The other side sends it back.
func AppendEcho(dst []byte) []byte { return AppendHeader(dst, Header{Command: CmdEcho}) }

// AppendEventsOff appends a request to pause the updates of all subscriptions of the circuit,
// because the client cannot keep up.
func AppendEventsOff(dst []byte) []byte { return AppendHeader(dst, Header{Command: CmdEventsOff}) }

// AppendEventsOn appends a request to resume the updates that AppendEventsOff paused.
func AppendEventsOn(dst []byte) []byte { return AppendHeader(dst, Header{Command: CmdEventsOn}) }
