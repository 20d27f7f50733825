package serve

import (
	"context"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/native"
)

// withNames returns a configuration whose reader and channels find PVs by all their names.
func (c *Config) withNames() *Config {
	if c.Reader == nil || c.Names == nil {
		return c
	}
	with := *c
	with.Reader = query.Named(c.Reader, c.Names)
	with.Channels = namedChannels{c.Channels, with.Reader}
	if with.all == nil {
		with.all = c.Channels
	}
	return &with
}

// namedChannels are channels that are also found by their aliases.
type namedChannels struct {
	native.Channels
	reader *query.Reader
}

// Status implements native.Channels. The state of an alias is that of its PV.
func (c namedChannels) Status(ctx context.Context, pv string) (capture.Status, bool, error) {
	f, err := c.reader.OtherNames(ctx, pv)
	if err != nil || f.PV == pv {
		return c.Channels.Status(ctx, pv)
	}
	return c.Channels.Status(ctx, f.PV)
}
