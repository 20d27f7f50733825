package proto

import (
	"fmt"

	"varve.dev/varve/engine/sample"
)

// AppendCreateChanReply appends a server's answer to CREATE_CHAN: the channel's native type,
// its maximum number of elements, and the server's ID for it. The server sends ACCESS_RIGHTS
// before this answer.
func AppendCreateChanReply(dst []byte, native DBR, count, cid, sid uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdCreateChan, Type: uint16(native), Count: count, P1: cid, P2: sid})
}

// AppendCreateChFail appends a server's refusal to create a channel.
func AppendCreateChFail(dst []byte, cid uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdCreateChFail, P1: cid})
}

// AppendAccessRights appends the client's access rights to a channel.
func AppendAccessRights(dst []byte, cid uint32, r Rights) []byte {
	return AppendHeader(dst, Header{Command: CmdAccessRights, P1: cid, P2: uint32(r)})
}

// AppendServerDisconn appends the notification that the server deleted a channel.
func AppendServerDisconn(dst []byte, cid uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdServerDisconn, P1: cid})
}

// AppendEvent appends an update of the subscription sub. AppendValue explains the parameters
// of the value.
func AppendEvent(dst []byte, t DBR, array bool, s *sample.Sample, m *sample.Metadata, sub uint32) []byte {
	return appendReply(dst, CmdEventAdd, t, array, s, m, sub)
}

// AppendReadReply appends the answer to the READ_NOTIFY with this ioid. AppendValue explains
// the parameters of the value.
func AppendReadReply(dst []byte, t DBR, array bool, s *sample.Sample, m *sample.Metadata, ioid uint32) []byte {
	return appendReply(dst, CmdReadNotify, t, array, s, m, ioid)
}

func appendReply(dst []byte, c Command, t DBR, array bool, s *sample.Sample, m *sample.Metadata, id uint32) []byte {
	count := Elements(t, array, s)
	h := Header{
		Command: c, Type: uint16(t), Size: uint32(Padded(t.PayloadSize(int(count)))), Count: count,
		P1: uint32(StatusNormal), P2: id,
	}
	return AppendValue(AppendHeader(dst, h), t, array, s, m)
}

// AppendEventEnd appends the confirmation that a subscription ended.
func AppendEventEnd(dst []byte, t DBR, sub uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdEventAdd, Type: uint16(t), P1: uint32(StatusNormal), P2: sub})
}

// AppendReadFail appends the answer to a READ_NOTIFY that failed with a status.
func AppendReadFail(dst []byte, t DBR, status Status, ioid uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdReadNotify, Type: uint16(t), P1: uint32(status), P2: ioid})
}

// AppendWriteReply appends the answer to a WRITE_NOTIFY.
func AppendWriteReply(dst []byte, t DBR, count uint32, status Status, ioid uint32) []byte {
	return AppendHeader(dst, Header{Command: CmdWriteNotify, Type: uint16(t), Count: count, P1: uint32(status), P2: ioid})
}

// AppendClearReply appends the confirmation that a channel was deleted.
func AppendClearReply(dst []byte, sid, cid uint32) []byte { return AppendClearChannel(dst, sid, cid) }

// AppendError appends the notification that a request failed. It contains the request's header
// and a text.
func AppendError(dst []byte, cid uint32, status Status, request Header, text string) []byte {
	quoted := AppendHeader(nil, request)
	size := Padded(len(quoted) + len(text) + 1)
	dst = AppendHeader(dst, Header{Command: CmdError, Size: uint32(size), P1: cid, P2: uint32(status)})
	dst = append(dst, quoted...)
	dst = append(dst, text...)
	return appendZeros(dst, size-len(quoted)-len(text))
}

// Failure is the content of an ERROR message. It is a Go error.
type Failure struct {
	Status  Status
	Request Header // header of the request; the message does not repeat its payload
	Text    string
}

// Error returns a text about the failure.
func (f *Failure) Error() string {
	return fmt.Sprintf("%v refused with %v: %q", f.Request.Command, f.Status, f.Text)
}

// ParseError returns the content of an ERROR message.
func ParseError(h *Header, payload []byte) (*Failure, error) {
	f := &Failure{Status: Status(h.P2)}
	n, err := readHeader(payload, &f.Request)
	if err != nil {
		return nil, ErrTruncated
	}
	f.Text = latin(Text(payload[n:]))
	return f, nil
}
