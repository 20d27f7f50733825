package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of a list of names.
const (
	maxNamesBytes = 512 << 20
	maxNames      = 5_000_000
)

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
	d := json.NewDecoder(io.LimitReader(in, min(cmp.Or(s.MaxBytes, DefaultMaxBytes), maxNamesBytes)))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return cmp.Or(err, errors.New("the answer is not a list in JSON"))
	}
	for n := 0; d.More(); n++ {
		var name string
		if err := d.Decode(&name); err != nil {
			return fmt.Errorf("name %d of the list: %w", n+1, err)
		}
		if n == maxNames {
			return fmt.Errorf("the list has more than %d names", maxNames)
		}
		add(name)
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("the end of the list is missing: %w", notEOF(err))
	}
	return nil
}

// notEOF returns an error that does not look like the normal end of an answer.
func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
