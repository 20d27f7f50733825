package pva

import (
	"sync"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/pva/proto"
)

// searchHeader is an upper bound for the size of a SEARCH without its channels.
const searchHeader = 64

// Client is a pvAccess client. Its methods may be called from any goroutine, but not
// from a sink's methods.
type Client struct {
	config   Config
	metrics  *metrics
	kernel   *client.Kernel
	udp      *udp
	beacons  beacons
	requests requests
}

var _ capture.Source = (*Client)(nil)

// New starts a client. Close ends it.
func New(config Config) (*Client, error) {
	c, err := newClient(config)
	if err != nil {
		return nil, err
	}
	c.beacons.start(c)
	c.kernel.Start()
	return c, nil
}

// newClient returns a client that is not started.
func newClient(config Config) (*Client, error) {
	c := &Client{config: config.withDefaults(), metrics: newMetrics()}
	c.requests = requests{config: &c.config, byFields: map[string]*request{}}
	var err error
	if c.udp, err = newUDP(c); err != nil {
		return nil, err
	}
	c.kernel, err = client.New(c.config.Config, client.Protocol{
		SearchPort:     c.config.BroadcastPort,
		SearchHeader:   searchHeader,
		SearchSize:     proto.SearchChannelSize,
		NewCircuit:     func(l *client.Link) client.Circuit { return newCircuit(c, l) },
		SendSearches:   c.udp.sendSearches,
		HandleDatagram: c.udp.handleDatagram,
	}, c.metrics.Metrics)
	return c, err
}

// Subscribe implements capture.Source. It sends the name to servers unchanged.
func (c *Client) Subscribe(name string, opts capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	return c.kernel.Subscribe(name, opts, sink)
}

// Reach implements capture.Source.
func (c *Client) Reach() capture.Reach { return c.kernel.Reach("EPICS_PVA") }

// Close implements capture.Source.
func (c *Client) Close() error {
	c.beacons.close()
	c.kernel.Close()
	return nil
}

// requests has the pvRequests of a client by their fields. Channels that request the same
// fields share a pvRequest.
type requests struct {
	config *Config

	mu       sync.Mutex
	byFields map[string]*request
}

// of returns the request for a channel.
func (r *requests) of(ch *client.Channel) *request {
	fields := ch.Options.Fields
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.byFields[fields]
	if q == nil {
		q = newRequest(fields, r.config.QueueSize, r.config.Pipeline)
		r.byFields[fields] = q
	}
	return q
}
