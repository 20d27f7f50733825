package peer

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
)

// Bounds of answers, in bytes.
const (
	maxRecent = 256 << 20 // samples of one PV: several times the size of the largest block
	maxLine   = 4 << 20   // state of one channel
	maxError  = 1 << 10   // text of an error
)

// Client requests data from engines. The contexts of its methods and the http.Client limit
// how long it waits.
type Client struct{ HTTP *http.Client }

// Recent requests the samples of a PV that the engine at baseURL holds in memory. Errors
// wrap query.ErrNoAnswer.
func (c *Client) Recent(ctx context.Context, baseURL string, q query.RecentRequest) (query.Held, error) {
	body, err := c.get(ctx, baseURL+RecentPath, valuesOf(&q))
	if err != nil {
		return query.Held{}, err
	}
	defer body.Close()
	in := bufio.NewReader(body)
	size, err := binary.ReadUvarint(in)
	if err == nil && size > maxRecent {
		err = fmt.Errorf("%w: %d bytes", ErrCorrupt, size)
	}
	var text []byte
	if err == nil {
		text, err = read(in, int(size))
		_, _ = in.ReadByte() // read to the end, so that the connection can be reused
	}
	var held query.Held
	if err == nil {
		held, err = DecodeHeld(text)
	}
	if err != nil {
		return query.Held{}, noAnswer(baseURL, err)
	}
	return held, nil
}

// read returns the next size bytes. It allocates memory only for bytes that it has read,
// because the announced size may be wrong.
func read(in io.Reader, size int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, int64(size)))
	if err == nil && len(text) < size {
		err = io.ErrUnexpectedEOF
	}
	return text, err
}

// Statuses yields the states of all channels that an engine captures, sorted by name. The
// sequence ends after its first error, which wraps query.ErrNoAnswer.
func (c *Client) Statuses(ctx context.Context, baseURL string) iter.Seq2[capture.Status, error] {
	return c.statuses(ctx, baseURL, nil)
}

// Status returns the state of one PV.
func (c *Client) Status(ctx context.Context, baseURL, pv string) (s capture.Status, captured bool, err error) {
	for s, err := range c.statuses(ctx, baseURL, url.Values{"name": {pv}}) {
		return s, err == nil, err
	}
	return s, false, nil
}

func (c *Client) statuses(ctx context.Context, baseURL string, q url.Values) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		body, err := c.get(ctx, baseURL+ChannelsPath, q)
		if err != nil {
			yield(capture.Status{}, err)
			return
		}
		defer body.Close()
		for s, err := range lines(body) {
			if err != nil {
				yield(capture.Status{}, noAnswer(baseURL, err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// lines yields the channels of an answer. An answer without its end is an error.
func lines(body io.Reader) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		in := bufio.NewScanner(body)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			var l line
			if err := json.Unmarshal(in.Bytes(), &l); err != nil {
				yield(capture.Status{}, fmt.Errorf("%w: %w", ErrCorrupt, err))
				return
			}
			if l.End {
				in.Scan() // read to the end, so that the connection can be reused
				return
			}
			s, err := l.status()
			if !yield(s, err) || err != nil {
				return
			}
		}
		err := in.Err()
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		yield(capture.Status{}, err)
	}
}

// get returns the body of an answer. The caller closes it.
func (c *Client) get(ctx context.Context, path string, q url.Values) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path+"?"+q.Encode(), nil)
	if err != nil {
		return nil, noAnswer(path, err)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, noAnswer(path, err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // a partial text is better than none
		return nil, noAnswer(path, errors.New(res.Status+": "+strings.TrimSpace(string(text))))
	}
	return res.Body, nil
}

func noAnswer(url string, err error) error {
	return fmt.Errorf("%w: requesting %s: %w", query.ErrNoAnswer, url, err)
}
