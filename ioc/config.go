package ioc

import (
	"cmp"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/ioc/sim"
)

// These are the defaults of a Config.
const (
	DefaultListen   = "127.0.0.1:5064"
	DefaultPrefix   = "SIM"
	DefaultMaxLag   = time.Second
	DefaultElements = 1000

	// DefaultPVAListen is the usual port of pvAccess. A Config without PVAListen does not
	// serve pvAccess.
	DefaultPVAListen = "127.0.0.1:5075"
)

const (
	maxRate     = 10_000     // Hz
	minRate     = 1e-6       // Hz
	maxChannels = 10_000_000 // per kind
	maxElements = 1 << 21    // 16 MiB
)

// Config selects the PVs and addresses of a Server. Addresses are host:port in IPv4.
type Config struct {
	// Listen is the address of Channel Access, for circuits and for searches by UDP. If it is
	// empty, it is DefaultListen. Port 0 stands for a free port.
	Listen string
	// PVAListen is the address of pvAccess. If it is empty, the server has no pvAccess.
	PVAListen string
	// PVASearch is an additional address for searches of pvAccess by UDP. Several servers of a
	// host can share it. Clients broadcast to port 5076. If PVASearch is empty, there is no
	// additional address.
	PVASearch string
	// Beacons and PVABeacons are the addresses to which the server sends beacons. Clients
	// listen on port 5065 for Channel Access and on port 5076 for pvAccess.
	Beacons, PVABeacons []string

	// Channels is the number of PVs of each kind.
	Channels int
	// Elements is the number of elements of a value of kind Wave. 0 means DefaultElements.
	Elements int
	// Rate is the number of updates of a PV per second, up to 10,000. With 0 or less, every
	// circuit sends as fast as its client reads.
	Rate float64
	// Kinds has the names of the kinds of PVs to serve, as sim.Kind.String returns them. The
	// case does not matter. If Kinds is empty, the server serves all kinds.
	Kinds []string
	// Prefix is the start of all names. If it is empty, it is DefaultPrefix.
	Prefix string
	// MaxLag is the maximum time by which a circuit may be behind the clock before it drops
	// updates. 0 means DefaultMaxLag.
	MaxLag time.Duration

	Log        *slog.Logger          // nil discards messages
	Registerer prometheus.Registerer // nil registers no metrics
}

// withDefaults returns c with defaults in place of empty fields.
func (c Config) withDefaults() Config {
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	c.MaxLag = cmp.Or(c.MaxLag, DefaultMaxLag)
	c.Elements = cmp.Or(c.Elements, DefaultElements)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// kinds returns the kinds to serve.
func (c *Config) kinds() ([]sim.Kind, error) {
	if len(c.Kinds) == 0 {
		return sim.Kinds(), nil
	}
	var out []sim.Kind
	for _, name := range c.Kinds {
		k, err := sim.ParseKind(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out, nil
}

// validate returns an error if c is invalid. The defaults of c must be filled in.
func (c *Config) validate() error {
	switch {
	case c.Channels < 1 || c.Channels > maxChannels:
		return fmt.Errorf("%d channels: want 1 to %d of each kind", c.Channels, maxChannels)
	case c.Elements < 1 || c.Elements > maxElements:
		return fmt.Errorf("waves of %d elements: want 1 to %d", c.Elements, maxElements)
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

// Set returns the PVs that a server of this configuration serves, or an error if the
// configuration is invalid.
func (c Config) Set() (*sim.Set, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	kinds, err := c.kinds()
	if err != nil {
		return nil, err
	}
	return sim.NewSet(c.Prefix, kinds, c.Channels, c.Elements), nil
}

// Names yields the names of the PVs that a server of this configuration serves, kind by kind.
func (c Config) Names() (iter.Seq[string], error) {
	s, err := c.Set()
	if err != nil {
		return nil, err
	}
	return s.Names(), nil
}
