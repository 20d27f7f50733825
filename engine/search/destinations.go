package search

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// resolveInterval is the minimum time between two look-ups of the names in an address list.
const resolveInterval = 2 * time.Second

// Destinations has the addresses of an address list, to which the client sends searches by
// UDP. As long as there are searches, Run looks up the host names of the list again. Thus the
// client finds an IOC that comes back with the same host name and another address.
type Destinations struct {
	// Changed is called by Run when the addresses have changed.
	Changed func()
	Log     *slog.Logger
	Errors  prometheus.Counter // failed look-ups

	resolve  Resolve
	port     uint16
	subnets  []netip.Prefix   // of this host's interfaces
	fixed    []netip.AddrPort // addresses of the list
	names    []string         // names in the list
	current  atomic.Pointer[[]netip.AddrPort]
	failed   atomic.Pointer[[]string] // names that the last look-up did not resolve
	searched chan struct{}            // holds one token when a round of searches was sent
}

// NewDestinations returns the destinations of an address list. The addresses have the form
// host or host:port. port is the port of addresses without a port. subnets has the subnets of
// this host's interfaces, and more has additional addresses.
func NewDestinations(list []string, port uint16, resolve Resolve, subnets []netip.Prefix, more ...netip.Addr) (*Destinations, error) {
	d := &Destinations{resolve: resolve, port: port, subnets: subnets, searched: make(chan struct{}, 1)}
	for _, address := range list {
		host, p, err := SplitAddress(address, port)
		if err != nil {
			return nil, fmt.Errorf("reading the address list: %w", err)
		}
		if ip, err := netip.ParseAddr(host); err == nil {
			d.fixed = append(d.fixed, netip.AddrPortFrom(ip, p))
		} else {
			d.names = append(d.names, address)
		}
	}
	for _, ip := range more {
		d.fixed = append(d.fixed, netip.AddrPortFrom(ip, port))
	}
	d.fixed = distinct(d.fixed)
	d.current.Store(&d.fixed)
	d.failed.Store(new([]string))
	return d, nil
}

// distinct sorts a list of addresses and removes repeated ones.
func distinct(list []netip.AddrPort) []netip.AddrPort {
	slices.SortFunc(list, netip.AddrPort.Compare)
	return slices.Compact(list)
}

// Empty reports whether there are no destinations.
func (d *Destinations) Empty() bool { return len(d.fixed)+len(d.names) == 0 }

// Addresses returns the current addresses. The caller must not change them.
func (d *Destinations) Addresses() []netip.AddrPort { return *d.current.Load() }

// List returns the addresses and names of the list, for users.
func (d *Destinations) List() []string {
	list := slices.Clone(d.names)
	for _, a := range d.fixed {
		list = append(list, a.String())
	}
	return list
}

// Failed returns the names that the last look-up did not resolve. The caller must not change them.
func (d *Destinations) Failed() []string { return *d.failed.Load() }

// Searched records that a round was sent, so that Run looks up names again.
func (d *Destinations) Searched() {
	select {
	case d.searched <- struct{}{}:
	default:
	}
}

// Run keeps the addresses up to date until ctx ends.
func (d *Destinations) Run(ctx context.Context) {
	if len(d.names) == 0 {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if d.lookUp(ctx) {
			d.Changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-d.searched:
			timer.Reset(resolveInterval)
		}
	}
}

// lookUp looks up the names, and reports whether the addresses changed. If a name cannot be
// resolved, lookUp keeps all previous addresses in addition to the new ones.
func (d *Destinations) lookUp(ctx context.Context) bool {
	before := d.Addresses()
	after := slices.Clone(d.fixed)
	var failed []string
	for _, name := range d.names {
		found, err := d.resolve.Addresses(ctx, name, d.port)
		if err != nil && ctx.Err() == nil {
			failed = append(failed, name)
			d.Errors.Inc()
			d.logFailure(name, err)
		}
		after = append(after, found...)
	}
	d.failed.Store(&failed)
	if len(failed) > 0 {
		after = append(after, before...)
	}
	after = distinct(after)
	d.current.Store(&after)
	return !slices.Equal(before, after)
}

// logFailure logs that a name cannot be resolved, once for as long as that lasts.
func (d *Destinations) logFailure(name string, err error) {
	level := slog.LevelDebug
	if !slices.Contains(d.Failed(), name) {
		level = slog.LevelWarn
	}
	d.Log.Log(context.Background(), level, "a host name of the address list cannot be resolved; it is tried again", "name", name, "err", err)
}
