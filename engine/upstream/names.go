package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxNames is the default of Server.MaxNames.
const DefaultMaxNames = 1_000_000

// bytesPerName is how many bytes, as sent, a list may have for each name that it may have. Names of PVs mostly have 10 to 40
// bytes.
const bytesPerName = 128

// ErrLongList means that a list of names is longer than the bounds of a Server.
var ErrLongList = errors.New("the list of names is too long")

// Names passes the names of all PVs of the archive to a function. After an error, the list is not complete.
func (a *Appliance) Names(ctx context.Context, add func(name string)) error {
	return a.names(ctx, "/bpl/getMatchingPVs", "limit=-1&pv=*", add)
}

// names passes the names in a list to a function.
func (s *Server) names(ctx context.Context, path, query string, add func(name string)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := s.readNames(ctx, cancel, path, query, add); err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, ErrSilent) {
			err = cause
		}
		return fmt.Errorf("reading the names of PVs from %s: %w", s.Base.Redacted(), err)
	}
	return nil
}

func (s *Server) readNames(ctx context.Context, cancel context.CancelCauseFunc, path, query string, add func(name string)) error {
	resp, in, err := s.open(ctx, cancel, path, query)
	if errors.Is(err, ErrUnknownPV) {
		return fmt.Errorf("the server has no call %s", path)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	most := cmp.Or(s.MaxNames, DefaultMaxNames)
	d := json.NewDecoder(&listReader{in: in, left: bytesPerName * int64(most), names: most})
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return cmp.Or(err, errors.New("the answer is not a list in JSON"))
	}
	for n := 0; d.More(); n++ {
		var name string
		if err := d.Decode(&name); err != nil {
			return fmt.Errorf("name %d of the list: %w", n+1, err)
		}
		if n == most {
			return fmt.Errorf("%w: it has more than %d names", ErrLongList, most)
		}
		add(name)
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("the end of the list is missing: %w", notEOF(err))
	}
	return nil
}

// listReader reads a list of names within a bound of its size.
type listReader struct {
	in    io.Reader
	left  int64 // bytes that may follow
	names int   // the number of names that the list may have
}

// Read implements io.Reader.
func (r *listReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("%w: it has more than %d bytes, %d for each of %d names", ErrLongList, bytesPerName*int64(r.names), bytesPerName, r.names)
	}
	n, err := r.in.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// notEOF returns an error that does not look like the normal end of an answer.
func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
