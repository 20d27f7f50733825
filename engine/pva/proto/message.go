package proto

import "fmt"

// MessageKind is the severity of a Message.
type MessageKind uint8

// These are the kinds of a Message.
const (
	InfoMessage MessageKind = iota
	WarningMessage
	ErrorMessage
	FatalMessage
)

var messageKindNames = [...]string{"info", "warning", "error", "fatal"}

// String returns the name of the kind.
func (k MessageKind) String() string {
	if int(k) < len(messageKindNames) {
		return messageKindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Message is a MESSAGE: a readable text that a server sends about an operation.
type Message struct {
	IOID uint32
	Kind MessageKind
	Text string
}

// ParseMessage parses a MESSAGE.
func ParseMessage(r *Reader) (m Message, err error) {
	m.IOID, m.Kind, m.Text = r.Uint32(), MessageKind(r.Uint8()), string(r.String())
	return m, r.err
}

// AppendMessage appends a MESSAGE.
func AppendMessage(dst []byte, m *Message, f Flags) []byte {
	o, start := f.order(), len(dst)
	dst = append(o.AppendUint32(Begin(dst, CmdMessage, f), m.IOID), byte(m.Kind))
	return End(AppendString(dst, m.Text, o), start)
}
