package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// client queries a running archive over HTTP.
type client struct{ address }

// Bounds of the waiting for an archive that is busy.
const (
	maxTries   = 6
	maxWaiting = time.Minute
)

// open requests a path and returns the JSON answer. The caller closes its body. If the archive is
// busy, open repeats the request when the archive allows it.
func (c *client) open(cmd *cobra.Command, path string) (*http.Response, error) {
	base, err := c.base(cmd)
	if err != nil {
		return nil, err
	}
	var waited time.Duration
	for try := 1; ; try++ {
		resp, err := c.request(cmd.Context(), base, path)
		status := statusError{}
		if !errors.As(err, &status) || status.retryAfter < 0 || try == maxTries || waited+status.retryAfter > maxWaiting {
			return resp, err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "The archive is busy: %s. Trying again in %v.\n", status, status.retryAfter)
		waited += status.retryAfter
		select {
		case <-cmd.Context().Done():
			return nil, err
		case <-time.After(status.retryAfter):
		}
	}
}

// http returns the client that sends requests.
func (a *address) http() *http.Client {
	if a.proxied {
		return a.cluster.client
	}
	return http.DefaultClient
}

// request sends one request.
func (c *client) request(ctx context.Context, base, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	if err := c.authorize(req); err != nil {
		return nil, err
	}
	name := req.URL.Scheme + "://" + req.URL.Host // without a password
	resp, err := c.http().Do(req)
	if err != nil {
		return nil, unreachable(name, err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // it is checked below
	if resp.StatusCode == http.StatusOK && kind != "text/html" {
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil, fmt.Errorf("the server at %s is no archive: it answers with a web page; check --url or %s", name, urlVariable)
	}
	problem := newStatusError(resp, kind)
	problem.text += c.refusedAdvice(problem.code)
	return nil, fmt.Errorf("the archive at %s answered: %w", name, problem)
}

// unreachable explains why a server cannot be reached. It leaves out the URL of the request,
// because users did not write it.
func unreachable(name string, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("cannot reach the archive at %s: %w; check that it runs there, or name another one with --url or %s", name, err, urlVariable)
}

// statusError is an answer with an HTTP status other than 200.
type statusError struct {
	code int
	text string
	// retryAfter is when to repeat the request. It is negative if that does not help.
	retryAfter time.Duration
}

func (e statusError) Error() string { return e.text }

// noSuchPath is the answer of an HTTP server of Go to an unknown path.
const noSuchPath = "404 page not found"

// maxProblem bounds the text of an error.
const maxProblem = 64 << 10

func newStatusError(resp *http.Response, kind string) statusError {
	e := statusError{code: resp.StatusCode, text: resp.Status, retryAfter: retryAfter(resp)}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return e
	}
	switch kind {
	case "application/json":
		var problem struct{ Error, Message string } // an API server answers a message
		if json.Unmarshal(body, &problem) == nil {
			e.text = printable(cmp.Or(problem.Error, problem.Message, e.text))
		}
	case "text/plain":
		e.text = printable(strings.TrimSpace(string(body)))
		if resp.StatusCode == http.StatusNotFound && e.text == noSuchPath {
			e.text = fmt.Sprintf("it has no path %s; its version of varve is older, or it is no archive: check --url or %s", resp.Request.URL.Path, urlVariable)
		}
	}
	return e
}

// retryAfter returns when a request may be repeated, or a negative duration if a later request
// would not succeed either.
func retryAfter(resp *http.Response) time.Duration {
	if resp.StatusCode != http.StatusServiceUnavailable && resp.StatusCode != http.StatusTooManyRequests {
		return -1
	}
	seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16)
	if err != nil {
		return -1
	}
	return time.Duration(seconds) * time.Second
}

// decode requests a path and decodes the JSON answer.
func (c *client) decode(cmd *cobra.Command, path string, into any) error {
	resp, err := c.open(cmd, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("decoding the answer of the archive: %w", err)
	}
	return nil
}
