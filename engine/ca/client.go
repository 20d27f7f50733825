package ca

import (
	"iter"
	"net/netip"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
)

// Client is a Channel Access client. Its methods may be called from any goroutine, but
// not from a sink's methods.
type Client struct {
	config  Config
	metrics *metrics
	kernel  *client.Kernel
	udp     *udp
}

var _ capture.Source = (*Client)(nil)

// New starts a client. Close ends it.
func New(config Config) (*Client, error) {
	c, err := newClient(config)
	if err != nil {
		return nil, err
	}
	c.kernel.Start()
	if c.config.RepeaterPort != 0 {
		c.kernel.Go(newBeacons(c).run)
	}
	return c, nil
}

// newClient returns a client that is not started.
func newClient(config Config) (*Client, error) {
	c := &Client{config: config.withDefaults(), metrics: newMetrics()}
	if err := c.config.check(); err != nil {
		return nil, err
	}
	c.udp = &udp{client: c}
	var err error
	c.kernel, err = client.New(c.config.Config, client.Protocol{
		SearchPort:     c.config.ServerPort,
		SearchHeader:   proto.HeaderSize, // VERSION
		SearchSize:     proto.SearchSize,
		NewCircuit:     func(l *client.Link) client.Circuit { return newCircuit(c, l) },
		SendSearches:   c.udp.sendSearches,
		HandleDatagram: c.udp.handleDatagram,
	}, c.metrics.Metrics)
	return c, err
}

// defaultEvents has the event classes of a subscription that does not name any.
const defaultEvents = capture.EventLog | capture.EventAlarm

// Subscribe implements capture.Source. It sends the name to servers unchanged.
func (c *Client) Subscribe(name string, opts capture.SubscribeOptions, sink capture.Sink) capture.Subscription {
	if opts.Events == 0 {
		opts.Events = defaultEvents
	}
	return c.kernel.Subscribe(name, opts, sink)
}

// Reach implements capture.Source.
func (c *Client) Reach() capture.Reach { return c.kernel.Reach("EPICS_CA") }

// Close implements capture.Source.
func (c *Client) Close() error {
	c.kernel.Close()
	return nil
}

// Circuits returns the servers that the client is connected to, name servers included,
// and the number of connections to each.
func (c *Client) Circuits() iter.Seq2[netip.AddrPort, int] { return c.kernel.Circuits() }
