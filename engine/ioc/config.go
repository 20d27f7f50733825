package ioc

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Defaults of a Config.
const (
	DefaultListen = "127.0.0.1:5064"
	DefaultPrefix = "SIM"
	DefaultMaxLag = time.Second
)

const (
	maxRate     = 10_000     // Hz
	minRate     = 1e-6       // Hz
	maxChannels = 10_000_000 // per kind
)

// Config says what a Server serves, and where.
type Config struct {
	// Listen is the IPv4 host:port of circuits, and of UDP searches. An empty one
	// is DefaultListen; port 0 takes a free one.
	Listen string
	// Channels is the number of PVs of each kind.
	Channels int
	// Rate is the number of updates of a PV in a second, up to 10,000. With 0 or
	// less every circuit sends as fast as its client takes it.
	Rate float64
	// Kinds are the kinds of PVs to serve, as Kind.String has them, in any case.
	// None stands for all.
	Kinds []string
	// Prefix begins the names; an empty one is DefaultPrefix.
	Prefix string
	// MaxLag is how far a circuit may lag behind the clock before it drops
	// updates; 0 is DefaultMaxLag.
	MaxLag time.Duration

	Log        *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil registers nothing
}

// withDefaults returns c with what is missing filled in.
func (c Config) withDefaults() Config {
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	c.MaxLag = cmp.Or(c.MaxLag, DefaultMaxLag)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// kinds returns the kinds to serve.
func (c *Config) kinds() ([]Kind, error) {
	if len(c.Kinds) == 0 {
		return Kinds(), nil
	}
	var out []Kind
	for _, name := range c.Kinds {
		k, err := ParseKind(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out, nil
}

// validate returns what is wrong with c, whose defaults are filled in.
func (c *Config) validate() error {
	switch {
	case c.Channels < 1 || c.Channels > maxChannels:
		return fmt.Errorf("%d channels: want 1 to %d of each kind", c.Channels, maxChannels)
	case math.IsNaN(c.Rate) || c.Rate > maxRate:
		return fmt.Errorf("a rate of %v Hz: want up to %d, or 0 for as fast as clients read", c.Rate, maxRate)
	case c.Rate > 0 && c.Rate < minRate:
		return fmt.Errorf("a rate of %v Hz: want at least %v", c.Rate, minRate)
	case c.MaxLag < 0:
		return fmt.Errorf("a lag of %v: want 0 or more", c.MaxLag)
	case strings.ContainsAny(c.Prefix, " \t\n\x00"):
		return fmt.Errorf("the prefix %q has a space in it", c.Prefix)
	}
	return nil
}
