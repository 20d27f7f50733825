package pva

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/test/epics"
)

// counters returns a database of n records T:C0… that count up ten times a second.
func counters(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "record(calc, \"T:C%d\") { field(INPA, \"T:C%d\") field(CALC, \"A+1\") field(SCAN, \".1 second\") }\n", i, i)
	}
	return b.String()
}

func subscribeAll(c *Client, sinks []recorder) {
	for i := range sinks {
		c.Subscribe(fmt.Sprintf("T:C%d", i), capture.SubscribeOptions{}, &sinks[i])
	}
}

func (r *recorder) has(n int) bool {
	return r.view(func(r *recorder) bool { return r.up && len(r.samples) >= n })
}

func TestNoStepOfManyRecordsIsMissing(t *testing.T) {
	const records, steps = 1000, 20
	ioc := epics.StartIOC(t, counters(records))
	for name, pipeline := range map[string]bool{"pipelined": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			countAll(t, Config{NameServers: []string{ioc.PVAAddr()}, Pipeline: pipeline}, records, steps)
		})
	}
}

// countAll has a client see some steps of all records.
func countAll(t *testing.T, config Config, records, steps int) {
	t.Helper()
	c := newClient(t, config)
	sinks := make([]recorder, records)
	subscribeAll(c, sinks)
	for i := range sinks {
		await(t, fmt.Sprint("updates of record ", i), func() bool { return sinks[i].has(steps) })
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range sinks {
		s := sinks[i].samples
		for j := 1; j < len(s); j++ {
			if step := math.Float64frombits(s[j].Word) - math.Float64frombits(s[j-1].Word); step != 1 || s[j].Time <= s[j-1].Time {
				t.Fatalf("record %d: step %v from %v to %v", i, step, s[j-1], s[j])
			}
		}
		if sinks[i].connects != 1 {
			t.Errorf("record %d connected %d times", i, sinks[i].connects)
		}
	}
}

func TestIOCComesBack(t *testing.T) {
	ioc := epics.StartIOC(t, counters(10))
	c := newClient(t, Config{NameServers: []string{ioc.PVAAddr()}})
	sinks := make([]recorder, 10)
	subscribeAll(c, sinks)
	for round, stop := range []func(){ioc.Stop, ioc.Kill} {
		for i := range sinks {
			await(t, "an update", func() bool { return sinks[i].has(round + 1) })
		}
		stop()
		for i := range sinks {
			await(t, "the loss to be told", func() bool { return sinks[i].view(func(r *recorder) bool { return !r.up && r.cause != nil }) })
		}
		ioc.Start()
		for i := range sinks {
			await(t, "the channel to come back", func() bool { return sinks[i].view(func(r *recorder) bool { return r.up && r.connects == round+2 }) })
		}
	}
}

func TestTwoHosts(t *testing.T) {
	one := epics.StartIOCOn(t, "127.0.0.1", `record(ai, "T:ONE") { field(PINI, "YES") }`)
	two := epics.StartIOCOn(t, "127.0.0.2", `record(ai, "T:TWO") { field(PINI, "YES") }`)
	c := newClient(t, Config{NameServers: []string{one.PVAAddr(), two.PVAAddr()}})
	for name, ioc := range map[string]*epics.IOC{"T:ONE": one, "T:TWO": two} {
		r := &recorder{}
		c.Subscribe(name, capture.SubscribeOptions{}, r)
		await(t, name, func() bool { return r.has(1) })
		if r.info.Host != ioc.PVAAddr() {
			t.Errorf("%s is said to be at %s, is at %s", name, r.info.Host, ioc.PVAAddr())
		}
	}
}

// movingHost resolves the name of a host that changes its address.
type movingHost struct {
	mu sync.Mutex
	ip string
}

func (m *movingHost) set(ip string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ip = ip
}

func (m *movingHost) resolve(context.Context, string) ([]netip.Addr, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return []netip.Addr{netip.MustParseAddr(m.ip)}, nil
}

func TestIOCComesBackUnderItsNameWithAnotherAddress(t *testing.T) {
	one := epics.StartIOCOn(t, "127.0.0.1", counters(1))
	two := epics.StartIOCOn(t, "127.0.0.2", counters(1))
	host := &movingHost{ip: one.Host}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == net.JoinHostPort(two.Host, strconv.Itoa(one.PVAPort)) { // a port cannot be chosen
			address = two.PVAAddr()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c := newClient(t, Config{NameServers: []string{"ioc:" + strconv.Itoa(one.PVAPort)}, Resolve: host.resolve, Dial: dial})
	sinks := make([]recorder, 1)
	subscribeAll(c, sinks)
	await(t, "an update", func() bool { return sinks[0].has(1) })
	host.set(two.Host)
	one.Kill()
	await(t, "the IOC at its new address", func() bool {
		return sinks[0].view(func(r *recorder) bool { return r.up && r.connects == 2 })
	})
}
