package proto

import "fmt"

// MessageKind is the weight of a Message.
type MessageKind uint8

// Kinds of a Message.
const (
	InfoMessage MessageKind = iota
	WarningMessage
	ErrorMessage
	FatalMessage
)

var messageKindNames = [...]string{"info", "warning", "error", "fatal"}

// String returns the kind in a word.
func (k MessageKind) String() string {
	if int(k) < len(messageKindNames) {
		return messageKindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Message is text for people that a server sends about an operation: its MESSAGE.
type Message struct {
	IOID uint32
	Kind MessageKind
	Text string
}

// ParseMessage takes a MESSAGE.
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
