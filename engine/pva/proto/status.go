package proto

import "fmt"

// StatusKind is the outcome of a request.
type StatusKind uint8

// Kinds of a Status.
const (
	OK StatusKind = iota
	Warning
	Error
	Fatal

	statusOK = 0xff // instead of a kind: OK, and no texts follow
)

// Status is the answer to a request. It is a Go error where it is none of OK and
// Warning.
type Status struct {
	Kind          StatusKind
	Message, Call string
}

// Error returns the status for people.
func (s *Status) Error() string {
	if s.Message == "" {
		return fmt.Sprintf("status %d", s.Kind)
	}
	return s.Message
}

// Err returns s if it tells of failure, else nil.
func (s Status) Err() error {
	if s.Kind <= Warning {
		return nil
	}
	return &s
}

// Status takes a status.
func (r *Reader) Status() Status {
	kind := r.Uint8()
	if kind == statusOK || r.err != nil {
		return Status{}
	}
	if kind > uint8(Fatal) {
		r.fail(fmt.Errorf("%d is no status", kind))
		return Status{}
	}
	return Status{Kind: StatusKind(kind), Message: string(r.String()), Call: string(r.String())}
}

// AppendStatus appends a status.
func AppendStatus(dst []byte, s Status, o Order) []byte {
	if s == (Status{}) {
		return append(dst, statusOK)
	}
	dst = append(dst, byte(s.Kind))
	return AppendString(AppendString(dst, s.Message, o), s.Call, o)
}
