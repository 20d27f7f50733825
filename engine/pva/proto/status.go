package proto

import "fmt"

// StatusKind is the outcome of a request.
type StatusKind uint8

// These are the kinds of a Status.
const (
	OK StatusKind = iota
	Warning
	Error
	Fatal

	statusOK = 0xff // stands for a status of kind OK without texts
)

// Status is the status in the answer to a request. A status that is neither OK nor Warning is
// a failure, and a Go error.
type Status struct {
	Kind          StatusKind
	Message, Call string
}

// Error returns a text about the status.
func (s *Status) Error() string {
	if s.Message == "" {
		return fmt.Sprintf("status %d", s.Kind)
	}
	return s.Message
}

// Err returns s if it is a failure, and nil otherwise.
func (s Status) Err() error {
	if s.Kind <= Warning {
		return nil
	}
	return &s
}

// Status reads a status.
func (r *Reader) Status() Status {
	kind := r.Uint8()
	if kind == statusOK || r.err != nil {
		return Status{}
	}
	if kind > uint8(Fatal) {
		r.fail(fmt.Errorf("%d is not a status kind", kind))
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
