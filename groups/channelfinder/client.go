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

// Limits of queries and their answers.
const (
	// MaxChannels is the maximum number of channels that a query may find.
	MaxChannels = 1_000_000
	// pageSize is the number of channels per request. A service returns at most 10,000
	// channels at once.
	pageSize = 5000
	// maxPage is the maximum size of a page in bytes. A page contains all properties of
	// its channels.
	maxPage = 32 << 20
	// maxName is the maximum size of a name in bytes, maxNames that of all names of a query.
	maxName  = 256
	maxNames = 64 << 20
	// pageTimeout limits one request, queryTimeout all requests of a query.
	pageTimeout  = time.Minute
	queryTimeout = 10 * time.Minute
)

// Client queries ChannelFinder services. It is safe for concurrent use.
type Client struct {
	http     *http.Client
	pageSize int
	maxPage  int64
	timeout  time.Duration // of a page
	allowed  *Addresses    // nil if all addresses are allowed
}

// NewClient returns a client. Call Close to free its connections.
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

// checkRedirect follows redirects only on the same host, because the URL may contain a
// password and the answer decides which PVs are archived.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) > 3:
		return wrongAnswer("it redirects more than 3 times")
	case to.URL.Hostname() != from.Hostname():
		return wrongAnswer("it redirects to another host")
	case from.Scheme == "https" && to.URL.Scheme != "https":
		return wrongAnswer("it redirects from https to http")
	}
	return nil
}

// Names returns the names of the channels that a query finds, sorted and without duplicates. A
// query that finds no channels is an error, because a service that lost its data would
// otherwise end the capture of its channels. The text of an error depends only on the cause,
// so that it does not vary between requests.
func (c *Client) Names(ctx context.Context, service, query string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	base, err := parseService(service)
	if err != nil {
		return nil, fmt.Errorf("parsing the URL of ChannelFinder: %w", err)
	}
	names, err := c.readPages(ctx, base, parseQuery(query))
	if err == nil && len(names) == 0 {
		err = errors.New("the query finds no channels")
	}
	if err != nil {
		return nil, fmt.Errorf("querying ChannelFinder %s for %s: %w", base.Redacted(), query, err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// readPages reads one page after the other. The first page comes from the channels resource.
// Every service has this resource, but it reaches at most 10,000 channels. Further pages come
// from the scroll resource, or from the channels resource if the service has no scroll
// resource.
func (c *Client) readPages(ctx context.Context, base *url.URL, q query) ([]string, error) {
	if q.has("~size") || q.has("~from") { // the user requests a part of the result
		return c.readPage(ctx, base.JoinPath("resources", "channels"), q)
	}
	size := strconv.Itoa(c.pageSize)
	names, err := c.readPage(ctx, base.JoinPath("resources", "channels"), q.with("~size", size).with("~from", "0"))
	if err != nil {
		return nil, err
	}
	scrolls, total := true, sizeOf(names)
	for got := len(names); got >= c.pageSize; {
		var next []string
		last := names[len(names)-1]
		if scrolls {
			next, err = c.readPage(ctx, base.JoinPath("resources", "scroll", url.PathEscape(last)), q.with("~size", size))
			if status, ok := errors.AsType[*statusError](err); ok && status.code < http.StatusInternalServerError {
				scrolls = false // an old service, or a name that cannot be part of a path
				continue
			}
		} else {
			next, err = c.readPage(ctx, base.JoinPath("resources", "channels"), q.with("~size", size).with("~from", strconv.Itoa(len(names))))
			if _, ok := errors.AsType[*statusError](err); ok {
				return nil, fmt.Errorf("the service has no scroll resource, and refuses the channels after number %d: %w", len(names), err)
			}
		}
		total += sizeOf(next)
		switch {
		case err != nil:
			return nil, err
		case len(next) > 0 && next[len(next)-1] == last:
			return nil, errors.New("the service repeats a page of the answer")
		case total > maxNames:
			return nil, fmt.Errorf("the names of the channels have more than %d bytes", maxNames)
		case len(names)+len(next) > MaxChannels:
			return nil, fmt.Errorf("the query finds more than %d channels", MaxChannels)
		}
		names, got = append(names, next...), len(next)
	}
	return names, nil
}

// readPage requests one page.
func (c *Client) readPage(ctx context.Context, at *url.URL, q query) ([]string, error) {
	if err := c.checkHost(at.Hostname()); err != nil {
		return nil, err
	}
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
		return nil, &statusError{resp.StatusCode}
	}
	if kind := resp.Header.Get("Content-Type"); kind != "" && !strings.Contains(kind, "json") {
		return nil, errors.New("its answer is not JSON, by its content type")
	}
	body := &io.LimitedReader{R: resp.Body, N: c.maxPage}
	names, err := readNames(body)
	switch {
	case body.N <= 0:
		return nil, fmt.Errorf("an answer with %d channels has more than %d bytes", c.pageSize, c.maxPage)
	case err != nil:
		return nil, fmt.Errorf("reading its answer: %w", c.cause(err))
	}
	return names, nil
}

// readNames returns the names in an array of channels, or in an object that contains such an
// array, as the answer of the scroll resource does.
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
		return nil, wrongAnswer("it is not a list of channels")
	}
	var names []string
	total := 0
	for d.More() {
		var channel struct {
			Name string `json:"name"`
		}
		if err := d.Decode(&channel); err != nil {
			return nil, err
		}
		if channel.Name == "" {
			return nil, wrongAnswer("a channel has no name")
		}
		if len(channel.Name) > maxName {
			return nil, wrongAnswer("the name of a channel has more than %d bytes", maxName)
		}
		if len(names) == MaxChannels {
			return nil, wrongAnswer("it has more than %d channels", MaxChannels)
		}
		if total += len(channel.Name); total > maxNames {
			return nil, wrongAnswer("the names of its channels have more than %d bytes", maxNames)
		}
		names = append(names, channel.Name)
	}
	_, err = d.Token() // the end of the array is missing if the connection broke
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
	return wrongAnswer("it has no %s", key)
}

// sizeOf returns the size of names in bytes.
func sizeOf(names []string) (bytes int) {
	for _, name := range names {
		bytes += len(name)
	}
	return bytes
}
