package channelfinder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of an answer.
const (
	// MaxChannels is the most channels of a query.
	MaxChannels = 1_000_000
	// pageSize is the number of channels of a request. A service finds no more
	// than 10,000 at once.
	pageSize = 5000
	// maxPage is the longest page that is read, in bytes: a channel comes with
	// all of its properties.
	maxPage = 64 << 20
	// pageTimeout bounds one request, queryTimeout all requests of a query.
	pageTimeout  = time.Minute
	queryTimeout = 10 * time.Minute
)

// Client asks ChannelFinder services. It is safe for concurrent use.
type Client struct {
	http     *http.Client
	pageSize int
	maxPage  int64
	timeout  time.Duration // of a page
}

// NewClient returns a client. Close frees its connections.
func NewClient() *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 1
	return &Client{
		http:     &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		pageSize: pageSize, maxPage: maxPage, timeout: pageTimeout,
	}
}

// Close frees idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// checkRedirect follows a service that moved on its own host, and nobody else:
// a URL may have a password in it, and the names decide what is archived.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) > 3:
		return errors.New("it redirects again and again")
	case to.URL.Hostname() != from.Hostname():
		return fmt.Errorf("it redirects to another host, %s", to.URL.Hostname())
	case from.Scheme == "https" && to.URL.Scheme != "https":
		return errors.New("it redirects from https to http")
	}
	return nil
}

// Names returns the names of the channels that a query finds, sorted, each once.
// A query that finds nothing is an error: a service that lost its data would
// otherwise end the capture. Errors have the same text for the same cause.
func (c *Client) Names(ctx context.Context, service, query string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	base, err := parseService(service)
	if err != nil {
		return nil, fmt.Errorf("reading the URL of ChannelFinder: %w", err)
	}
	names, err := c.pages(ctx, base, parseQuery(query))
	if err == nil && len(names) == 0 {
		err = errors.New("the query finds no channels")
	}
	if err != nil {
		return nil, fmt.Errorf("asking ChannelFinder %s for %s: %w", base.Redacted(), query, err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// pages asks for one page after the other. The first one comes from the resource
// that every service has. It can not reach beyond 10,000 channels, so the others
// come from the scroll resource, or again from the first one where there is none.
func (c *Client) pages(ctx context.Context, base *url.URL, q query) ([]string, error) {
	if q.has("~size") || q.has("~from") { // the user wants that part
		return c.page(ctx, base.JoinPath("resources", "channels"), q)
	}
	size := strconv.Itoa(c.pageSize)
	names, err := c.page(ctx, base.JoinPath("resources", "channels"), q.with("~size", size).with("~from", "0"))
	if err != nil {
		return nil, err
	}
	scrolls := true
	for got := len(names); got >= c.pageSize; {
		var next []string
		last := names[len(names)-1]
		if scrolls {
			next, err = c.page(ctx, base.JoinPath("resources", "scroll", url.PathEscape(last)), q.with("~size", size))
			if status, ok := errors.AsType[*statusError](err); ok && status.code < http.StatusInternalServerError {
				scrolls = false // an old service, or a name that can not be a part of a path
				continue
			}
		} else {
			next, err = c.page(ctx, base.JoinPath("resources", "channels"), q.with("~size", size).with("~from", strconv.Itoa(len(names))))
		}
		switch {
		case err != nil:
			return nil, err
		case len(next) > 0 && next[len(next)-1] == last:
			return nil, errors.New("its pages do not come to an end")
		case len(names)+len(next) > MaxChannels:
			return nil, fmt.Errorf("the query finds more than %d channels", MaxChannels)
		}
		names, got = append(names, next...), len(next)
	}
	return names, nil
}

// page makes one request.
func (c *Client) page(ctx context.Context, at *url.URL, q query) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	at.RawQuery = q.encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.cause(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, readStatus(resp)
	}
	if kind := resp.Header.Get("Content-Type"); kind != "" && !strings.Contains(kind, "json") {
		return nil, fmt.Errorf("its answer is not JSON but %s", kind)
	}
	body := &io.LimitedReader{R: resp.Body, N: c.maxPage}
	names, err := readNames(body)
	switch {
	case body.N <= 0:
		return nil, fmt.Errorf("%d channels of its answer have more than %d bytes", c.pageSize, c.maxPage)
	case err != nil:
		return nil, fmt.Errorf("reading its answer: %w", c.cause(err))
	}
	return names, nil
}

// readNames takes the names out of an array of channels, or of an object that
// has one as the scroll resource's answer does.
func readNames(r io.Reader) ([]string, error) {
	d := json.NewDecoder(r)
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if token == json.Delim('{') {
		if err := skipTo(d, "channels"); err != nil {
			return nil, err
		}
		if token, err = d.Token(); err != nil {
			return nil, err
		}
	}
	if token != json.Delim('[') {
		return nil, errors.New("it is not a list of channels")
	}
	var names []string
	for d.More() {
		var channel struct {
			Name string `json:"name"`
		}
		if err := d.Decode(&channel); err != nil {
			return nil, err
		}
		if channel.Name == "" {
			return nil, errors.New("a channel has no name")
		}
		if len(names) == MaxChannels {
			return nil, fmt.Errorf("it has more than %d channels", MaxChannels)
		}
		names = append(names, channel.Name)
	}
	_, err = d.Token() // the end of the array, which a broken connection loses
	return names, err
}

// skipTo reads an object up to the value of a key.
func skipTo(d *json.Decoder, key string) error {
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if name == key {
			return nil
		}
		var other json.RawMessage
		if err := d.Decode(&other); err != nil {
			return err
		}
	}
	return fmt.Errorf("it has no %s", key)
}
