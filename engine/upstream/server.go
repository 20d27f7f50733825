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

// ErrCredentials means that the credentials for the other archive cannot be read, so no request was sent.
var ErrCredentials = errors.New("the credentials cannot be used")

// Defaults of the bounds of an answer.
const (
	DefaultIdle     = time.Minute
	DefaultMaxBytes = 64 << 30
)

// Server is how an archive is reached. Several goroutines may use it.
type Server struct {
	// Base is the URL of the archive, as the kind of archive needs it.
	Base *url.URL
	// Authorize adds credentials to a request. It may be nil.
	Authorize func(*http.Request) error
	// Client sends the requests. If it is nil, http.DefaultClient does.
	Client *http.Client
	// Idle is how long the server may send nothing. If it is 0, it is DefaultIdle.
	Idle time.Duration
	// MaxBytes is the maximum size of an answer. If it is 0, it is DefaultMaxBytes.
	MaxBytes int64
	// MaxNames is the maximum number of names in a list of names. If it is 0, it is DefaultMaxNames. It also bounds the
	// bytes of the list.
	MaxNames int
}

func (s *Server) idle() time.Duration { return cmp.Or(s.Idle, DefaultIdle) }

// withIdle returns a context that ends with ErrSilent when a server has been silent for too long.
func (s *Server) withIdle(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.idle(), fmt.Errorf("%w for %v", ErrSilent, s.idle()))
}

// checked yields the samples that a checker lets pass. read feeds an answer to it.
func (s *Server) checked(ctx context.Context, c checker, read func(context.Context, context.CancelCauseFunc, *checker) error) iter.Seq2[*sample.Run, error] {
	return func(yield func(*sample.Run, error) bool) {
		c := c // of this iteration
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		c.yield = func(run *sample.Run) bool { return yield(run, nil) }
		err := read(ctx, cancel, &c)
		if err == nil || errors.Is(err, errStopped) {
			return
		}
		yield(nil, s.failed(ctx, c.pv, err))
	}
}

// failed returns the error of a read of a PV, with the reason for which ctx ended.
func (s *Server) failed(ctx context.Context, pv string, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrSilent) {
		err = cause
	}
	return fmt.Errorf("reading %s from %s: %w", pv, s.Base.Redacted(), err)
}

// errStopped ends a read whose consumer has stopped.
var errStopped = errors.New("the consumer has stopped")

// open requests a path below Base. The caller closes the body of the answer, and reads the bounded reader.
func (s *Server) open(ctx context.Context, cancel context.CancelCauseFunc, path, query string) (*http.Response, io.Reader, error) {
	idle := s.idle()
	header := time.AfterFunc(idle, func() { cancel(fmt.Errorf("%w for %v", ErrSilent, idle)) })
	defer header.Stop()
	resp, err := s.get(ctx, path, query)
	if err != nil {
		return nil, nil, err
	}
	return resp, newBody(resp.Body, cancel, idle, cmp.Or(s.MaxBytes, DefaultMaxBytes)), nil
}

// get requests a path below Base, which is escaped, and returns an answer with the status 200.
func (s *Server) get(ctx context.Context, path, query string) (*http.Response, error) {
	u, err := url.Parse(s.Base.String() + path)
	if err != nil {
		return nil, err
	}
	u.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if s.Authorize != nil {
		if err := s.Authorize(req); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
		}
	}
	resp, err := cmp.Or(s.Client, http.DefaultClient).Do(req)
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

// maxReason is how many bytes of the text of an error are kept.
const maxReason = 200

// refused returns the error of an answer other than 200.
func refused(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	// The server chooses the text of resp.Status, with up to the size of a header.
	status := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return ErrUnknownPV
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusProxyAuthRequired:
		return &StatusError{Code: resp.StatusCode, text: fmt.Sprintf("the server answered %s", status)} // the text may repeat credentials
	case err != nil || len(text) == 0 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain"):
		return &StatusError{Code: resp.StatusCode, text: fmt.Sprintf("the server answered %s", status)}
	}
	return &StatusError{Code: resp.StatusCode, text: fmt.Sprintf("the server answered %s: %q", status, strings.TrimSpace(string(text)))}
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
