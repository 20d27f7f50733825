package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"varve.dev/varve/engine/sample"
)

// ErrUnknownPV means that the other archive does not know a PV.
var ErrUnknownPV = errors.New("the archive does not know the PV")

// Defaults of the bounds of an answer.
const (
	DefaultIdle     = time.Minute
	DefaultMaxBytes = 64 << 30
)

// Appliance reads an Archiver Appliance, or a Varve. Several goroutines may use it.
type Appliance struct {
	// Base is the URL of the retrieval, such as http://appliance:17668/retrieval.
	Base *url.URL
	// Authorize adds credentials to a request. It may be nil.
	Authorize func(*http.Request) error
	// Client sends the requests. If it is nil, http.DefaultClient does.
	Client *http.Client
	// Idle is how long the server may send nothing. If it is 0, it is DefaultIdle.
	Idle time.Duration
	// MaxBytes is the maximum size of an answer. If it is 0, it is DefaultMaxBytes.
	MaxBytes int64
}

// Check returns an error if there is no archive at the address, so that a wrong address is not taken for an
// archive that knows no PV.
func (a *Appliance) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.idle())
	defer cancel()
	resp, err := a.get(ctx, "/bpl/getVersion", nil)
	if err != nil {
		return fmt.Errorf("no archive answers at %s: %w", a.Base.Redacted(), err)
	}
	return resp.Body.Close()
}

func (a *Appliance) idle() time.Duration { return cmp.Or(a.Idle, DefaultIdle) }

// Samples yields the samples of a PV with times in [from, to], in ns since 1970, by time. A sample that the
// server repeats is yielded once. A run has one type and at least one sample, and is valid until the next
// one is requested. The sequence ends after its first error, which names the server and the PV. It is
// ErrUnknownPV if the archive does not know the PV.
func (a *Appliance) Samples(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error] {
	return a.samples(ctx, checker{pv: pv, from: from, to: to})
}

// SamplesAndLast yields what Samples yields, and first the last sample before from, if the server sends it.
func (a *Appliance) SamplesAndLast(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error] {
	return a.samples(ctx, checker{pv: pv, from: from, to: to, lead: true})
}

// samples yields what a checker lets pass.
func (a *Appliance) samples(ctx context.Context, c checker) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		c.yield = func(run *sample.Run) bool { return yield(run, nil) }
		err := a.read(ctx, cancel, &c)
		if err == nil || errors.Is(err, errStopped) {
			return
		}
		yield(nil, a.failed(ctx, c.pv, err))
	}
}

// failed returns the error of a read of a PV, with the reason for which ctx ended.
func (a *Appliance) failed(ctx context.Context, pv string, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrSilent) {
		err = cause
	}
	return fmt.Errorf("reading %s from %s: %w", pv, a.Base.Redacted(), err)
}

// errStopped ends a read whose consumer has stopped.
var errStopped = errors.New("the consumer has stopped")

// read requests the samples and yields them.
func (a *Appliance) read(ctx context.Context, cancel context.CancelCauseFunc, c *checker) error {
	resp, in, err := a.getData(ctx, cancel, c.pv, c.from, c.to)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := c.read(in); err != nil {
		return err
	}
	if err := c.flushLead(); err != nil {
		return err
	}
	return whole(resp, in)
}

// getData requests the samples of a range. The caller closes the body of the answer, and reads the bounded
// reader.
func (a *Appliance) getData(ctx context.Context, cancel context.CancelCauseFunc, pv string, from, to int64) (*http.Response, io.Reader, error) {
	idle := a.idle()
	header := time.AfterFunc(idle, func() { cancel(fmt.Errorf("%w for %v", ErrSilent, idle)) })
	defer header.Stop()
	resp, err := a.get(ctx, "/data/getData.raw", url.Values{"pv": {pv}, "from": {milliseconds(from)}, "to": {milliseconds(to + 999_999)}})
	if err != nil {
		return nil, nil, err
	}
	return resp, newBody(resp.Body, cancel, idle, cmp.Or(a.MaxBytes, DefaultMaxBytes)), nil
}

// get requests a path below Base, and returns an answer with the status 200.
func (a *Appliance) get(ctx context.Context, path string, q url.Values) (*http.Response, error) {
	u := *a.Base
	u.Path += path
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if a.Authorize != nil {
		if err := a.Authorize(req); err != nil {
			return nil, err
		}
	}
	resp, err := cmp.Or(a.Client, http.DefaultClient).Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // the caller names the URL
			err = wrapped.Err
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, refused(resp)
	}
	return resp, nil
}

// milliseconds formats a time as an Appliance reads it: it ignores what is finer than a millisecond.
func milliseconds(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }

// maxReason is how many bytes of the text of an error are kept.
const maxReason = 200

// refused returns the error of an answer other than 200.
func refused(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return ErrUnknownPV
	case err != nil || len(text) == 0 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain"):
		return &StatusError{Code: resp.StatusCode, text: fmt.Sprintf("the server answered %s", resp.Status)}
	}
	return &StatusError{Code: resp.StatusCode, text: fmt.Sprintf("the server answered %s: %q", resp.Status, strings.TrimSpace(string(text)))}
}

// StatusError is an answer with another status than 200 and 404.
type StatusError struct {
	Code int
	text string
}

// Error implements error.
func (e *StatusError) Error() string { return e.text }

// incomplete are the headers and trailers with which a Varve says that samples are missing.
var incomplete = []string{"Varve-Complete-Until", "Varve-Lost-Samples"}

// maxBeyond is how many bytes may follow the first sample after the range: one more sample may be a large
// array.
const maxBeyond = 32 << 20

// whole reads an answer to its end. It returns an error if a Varve says in the headers or trailers that samples are missing.
func whole(resp *http.Response, in io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(in, maxBeyond))
	switch {
	case err != nil:
		return err
	case n == maxBeyond:
		return errors.New("the server sent samples long after the end of the range")
	}
	for _, key := range incomplete {
		if v := cmp.Or(resp.Header.Get(key), resp.Trailer.Get(key)); v != "" {
			return fmt.Errorf("the answer lacks samples: the server sent %s: %.40q", key, v)
		}
	}
	return nil
}
