package proto

import (
	"errors"
	"fmt"
)

// HeaderSize is the size in bytes of the header of a message.
const HeaderSize = 8

const (
	magic = 0xca
	// Version is the protocol version of this package.
	Version = 2
)

// Command is the kind of an application message.
type Command uint8

// These are the commands.
const (
	CmdBeacon              Command = 0
	CmdConnectionValidate  Command = 1
	CmdEcho                Command = 2
	CmdSearch              Command = 3
	CmdSearchResponse      Command = 4
	CmdAuthNZ              Command = 5
	CmdACLChange           Command = 6
	CmdCreateChannel       Command = 7
	CmdDestroyChannel      Command = 8
	CmdConnectionValidated Command = 9
	CmdGet                 Command = 10
	CmdPut                 Command = 11
	CmdPutGet              Command = 12
	CmdMonitor             Command = 13
	CmdArray               Command = 14
	CmdDestroyRequest      Command = 15
	CmdProcess             Command = 16
	CmdGetField            Command = 17
	CmdMessage             Command = 18
	CmdMultipleData        Command = 19
	CmdRPC                 Command = 20
	CmdCancelRequest       Command = 21
	CmdOriginTag           Command = 22
)

var commandNames = [...]string{
	CmdBeacon: "BEACON", CmdConnectionValidate: "CONNECTION_VALIDATION", CmdEcho: "ECHO", CmdSearch: "SEARCH",
	CmdSearchResponse: "SEARCH_RESPONSE", CmdAuthNZ: "AUTHNZ", CmdACLChange: "ACL_CHANGE", CmdCreateChannel: "CREATE_CHANNEL",
	CmdDestroyChannel: "DESTROY_CHANNEL", CmdConnectionValidated: "CONNECTION_VALIDATED", CmdGet: "GET", CmdPut: "PUT",
	CmdPutGet: "PUT_GET", CmdMonitor: "MONITOR", CmdArray: "ARRAY", CmdDestroyRequest: "DESTROY_REQUEST", CmdProcess: "PROCESS",
	CmdGetField: "GET_FIELD", CmdMessage: "MESSAGE", CmdMultipleData: "MULTIPLE_DATA", CmdRPC: "RPC",
	CmdCancelRequest: "CANCEL_REQUEST", CmdOriginTag: "ORIGIN_TAG",
}

// String returns the name that the specification uses.
func (c Command) String() string {
	if int(c) < len(commandNames) {
		return commandNames[c]
	}
	return fmt.Sprintf("command(%d)", uint8(c))
}

// Control is the kind of a control message, which consists only of a header.
type Control uint8

// These are the control messages. Header.Size has their data.
const (
	SetMarker    Control = 0
	AckMarker    Control = 1
	SetByteOrder Control = 2 // FlagBig of its header is the byte order of the server
	EchoRequest  Control = 3
	EchoResponse Control = 4
)

// Flags is the second byte of a header.
type Flags uint8

// These are the flags of a header. FlagFirst alone marks the first segment of a message, and
// FlagLast alone marks the last. Both together mark a segment between them.
const (
	FlagControl Flags = 0x01
	FlagFirst   Flags = 0x10
	FlagLast    Flags = 0x20
	FlagServer  Flags = 0x40
	FlagBig     Flags = 0x80

	segmentBits = FlagFirst | FlagLast
)

// Header is the header of a message.
type Header struct {
	Version uint8
	Flags   Flags
	Command Command // Control, if Flags has FlagControl
	// Size is the size of the payload in bytes. A control message has no payload, and Size is
	// its data.
	Size uint32
}

// Order returns the byte order of the message.
func (h *Header) Order() Order { return h.Flags&FlagBig != 0 }

// Control returns the kind of a control message, and reports whether the message is one.
func (h *Header) Control() (Control, bool) { return Control(h.Command), h.Flags&FlagControl != 0 }

// Segmented reports whether the message is a segment of a larger one, and whether it is the
// first or the last segment.
func (h *Header) Segmented() (first, last, segmented bool) {
	bits := h.Flags & segmentBits
	return bits == FlagFirst, bits == FlagLast, bits != 0
}

// ReadFrame returns these errors.
var (
	// ErrShort means that the bytes end before the frame does. The caller must read more and
	// try again.
	ErrShort = errors.New("the frame is cut short")
	// ErrTooLarge means that the payload is larger than the limit.
	ErrTooLarge = errors.New("the payload is larger than allowed")
	// ErrMagic means that the bytes are not a frame. The rest of the stream cannot be decoded.
	ErrMagic = errors.New("not a pvAccess message")
)

// ReadFrame parses the frame at the start of b into h. It returns the payload, which shares
// the memory of b, and n, the size of the frame in bytes. With ErrShort, n is the minimum
// number of bytes needed. ReadFrame returns ErrTooLarge for a payload of more than maxSize
// bytes. Then h is set and n is the size of the header, so that the caller can skip h.Size
// more bytes and continue.
func ReadFrame(b []byte, h *Header, maxSize uint32) (payload []byte, n int, err error) {
	if len(b) > 0 && b[0] != magic || len(b) > 1 && b[1] == 0 {
		return nil, 0, ErrMagic // there is no version 0
	}
	if len(b) < HeaderSize {
		return nil, HeaderSize, ErrShort
	}
	h.Version, h.Flags, h.Command = b[1], Flags(b[2]), Command(b[3])
	h.Size = h.Order().Uint32(b[4:])
	if h.Flags&FlagControl != 0 {
		return nil, HeaderSize, nil
	}
	if h.Size > maxSize {
		return nil, HeaderSize, ErrTooLarge
	}
	end := HeaderSize + int(h.Size)
	if len(b) < end {
		return nil, end, ErrShort
	}
	return b[HeaderSize:end:end], end, nil
}

// AppendHeader appends h.
func AppendHeader(dst []byte, h Header) []byte {
	dst = append(dst, magic, h.Version, byte(h.Flags), byte(h.Command))
	return h.Order().AppendUint32(dst, h.Size)
}

// AppendControl appends a control message. flags may have FlagServer and FlagBig.
func AppendControl(dst []byte, c Control, flags Flags, data uint32) []byte {
	return AppendHeader(dst, Header{Version: Version, Flags: flags | FlagControl, Command: Command(c), Size: data})
}

// Begin appends the header of a message. The caller then appends the payload and calls End,
// which sets the size. flags may have FlagServer and FlagBig.
func Begin(dst []byte, c Command, flags Flags) []byte {
	return AppendHeader(dst, Header{Version: Version, Flags: flags, Command: c})
}

// End sets the size of the message that begins at offset start of dst.
func End(dst []byte, start int) []byte {
	size := uint32(len(dst) - start - HeaderSize)
	Flags(dst[start+2]).order().AppendUint32(dst[start+4:start+4], size)
	return dst
}

func (f Flags) order() Order { return f&FlagBig != 0 }
