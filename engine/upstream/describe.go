package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"varve.dev/varve/engine/pbfile"
)

// Header returns the header in front of the samples of a PV at a time, in ns since 1970, or nil if the archive
// knows the PV but sends no header. The header names the type of the samples. The error is ErrUnknownPV if the
// archive does not know the PV.
func (a *Appliance) Header(ctx context.Context, pv string, at int64) (*pbfile.Header, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h, err := a.header(ctx, cancel, pv, at)
	if err != nil {
		return nil, a.failed(ctx, pv, err)
	}
	return h, nil
}

func (a *Appliance) header(ctx context.Context, cancel context.CancelCauseFunc, pv string, at int64) (*pbfile.Header, error) {
	resp, in, err := a.getData(ctx, cancel, pv, at-int64(time.Second), at)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	h, err := pbfile.NewReader(in).Header()
	if errors.Is(err, pbfile.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := checker{pv: pv}
	return &h, c.named(&h)
}

// Bounds of a list of names.
const (
	maxNamesBytes = 512 << 20
	maxNames      = 5_000_000
)

// Names passes the names of all PVs of the archive to a function. After an error, the list is not complete.
func (a *Appliance) Names(ctx context.Context, add func(name string)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := a.readNames(ctx, cancel, add); err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, ErrSilent) {
			err = cause
		}
		return fmt.Errorf("reading the names of PVs from %s: %w", a.Base.Redacted(), err)
	}
	return nil
}

func (a *Appliance) readNames(ctx context.Context, cancel context.CancelCauseFunc, add func(name string)) error {
	idle := a.idle()
	header := time.AfterFunc(idle, func() { cancel(fmt.Errorf("%w for %v", ErrSilent, idle)) })
	resp, err := a.get(ctx, "/bpl/getMatchingPVs", url.Values{"pv": {"*"}, "limit": {"-1"}})
	header.Stop()
	if errors.Is(err, ErrUnknownPV) {
		return errors.New("the server has no call getMatchingPVs")
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in := json.NewDecoder(newBody(resp.Body, cancel, idle, min(cmp.Or(a.MaxBytes, DefaultMaxBytes), maxNamesBytes)))
	if t, err := in.Token(); err != nil || t != json.Delim('[') {
		return cmp.Or(err, errors.New("the answer is not a list in JSON"))
	}
	for n := 0; in.More(); n++ {
		var name string
		if err := in.Decode(&name); err != nil {
			return fmt.Errorf("name %d of the list: %w", n+1, err)
		}
		if n == maxNames {
			return fmt.Errorf("the list has more than %d names", maxNames)
		}
		add(name)
	}
	if _, err := in.Token(); err != nil {
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
