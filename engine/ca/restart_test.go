package ca

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
	"time"

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
	const records, steps = 2000, 30
	ioc := epics.StartIOC(t, counters(records))
	c := newClient(t, Config{AddrList: []string{ioc.CAAddr()}})
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
	c := newClient(t, Config{AddrList: []string{ioc.CAAddr()}})
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

func TestNameServerReplacesUDP(t *testing.T) {
	ioc := epics.StartIOC(t, counters(3))
	c := newClient(t, Config{NameServers: []string{ioc.CAAddr()}})
	sinks := make([]recorder, 3)
	subscribeAll(c, sinks)
	for round := range 2 {
		for i := range sinks {
			await(t, "an update", func() bool {
				return sinks[i].has(2) && sinks[i].view(func(r *recorder) bool { return r.connects == round+1 })
			})
		}
		if round == 0 {
			ioc.Restart()
		}
	}
}

func TestTwoHosts(t *testing.T) {
	one := epics.StartIOCOn(t, "127.0.0.1", `record(ai, "T:ONE") { field(PINI, "YES") }`)
	two := epics.StartIOCOn(t, "127.0.0.2", `record(ai, "T:TWO") { field(PINI, "YES") }`)
	c := newClient(t, Config{AddrList: []string{one.CAAddr(), two.CAAddr()}})
	for name, ioc := range map[string]*epics.IOC{"T:ONE": one, "T:TWO": two} {
		r := &recorder{}
		c.Subscribe(name, capture.SubscribeOptions{}, r)
		await(t, name, func() bool { return r.has(1) })
		if r.info.Host != ioc.CAAddr() {
			t.Errorf("%s is said to be at %s, is at %s", name, r.info.Host, ioc.CAAddr())
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
	two := epics.StartIOCAt(t, "127.0.0.2", one.CAPort, counters(1))
	address := "ioc:" + strconv.Itoa(one.CAPort)
	for name, config := range map[string]Config{
		"UDP": {AddrList: []string{address}}, "name server": {NameServers: []string{address}},
	} {
		t.Run(name, func(t *testing.T) {
			host := &movingHost{ip: one.Host}
			config.Resolve = host.resolve
			c := newClient(t, config)
			sinks := make([]recorder, 1)
			subscribeAll(c, sinks)
			await(t, "an update", func() bool { return sinks[0].has(1) })
			host.set(two.Host)
			one.Kill()
			await(t, "the IOC at its new address", func() bool {
				return sinks[0].view(func(r *recorder) bool { return r.up && r.info.Host == two.CAAddr() })
			})
		})
		one.Start()
	}
}

// passive returns a database of n records that do nothing.
func passive(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "record(ao, \"T:C%d\") { field(VAL, \"%d\") }\n", i, i)
	}
	return b.String()
}

// manyChannels are as many as a large IOC has.
const manyChannels = 20_000

// allUp waits until all channels are connected for the nth time and have a value,
// and returns how long that took.
func allUp(t *testing.T, sinks []tally, n int) time.Duration {
	t.Helper()
	began := time.Now()
	for i := range sinks {
		await(t, fmt.Sprintf("channel %d to connect for time %d", i, n), func() bool {
			return sinks[i].connects.Load() == int64(n) && sinks[i].samples.Load() >= uint64(n)
		})
	}
	return time.Since(began)
}

// subscribeMany subscribes to the records of passive.
func subscribeMany(c *Client) []tally {
	sinks := make([]tally, manyChannels)
	for i := range sinks {
		c.Subscribe(fmt.Sprintf("T:C%d", i), capture.SubscribeOptions{}, &sinks[i])
	}
	return sinks
}

func TestManyChannelsComeBackTogether(t *testing.T) {
	one := epics.StartIOC(t, passive(manyChannels))
	host := &movingHost{ip: one.Host}
	for name, config := range map[string]Config{
		"searched": {AddrList: []string{one.CAAddr()}},
		"probed":   {AddrList: []string{"ioc:" + strconv.Itoa(one.CAPort)}, Resolve: host.resolve},
	} {
		t.Run(name, func(t *testing.T) {
			host.set(one.Host)
			sinks := subscribeMany(newClient(t, config))
			t.Logf("%d channels connected after %v", manyChannels, allUp(t, sinks, 1))
			host.set("127.0.0.9") // where nobody is: searches do not arrive any more
			one.Restart()
			comeBack(t, sinks, 2)
		})
	}
}

func TestManyChannelsMoveToAnotherPort(t *testing.T) {
	beacons := epics.FreePort(t, "127.0.0.1")
	t.Setenv("EPICS_CAS_BEACON_PORT", strconv.Itoa(beacons))
	one := epics.StartIOC(t, passive(manyChannels))
	port := epics.FreePort(t, one.Host)
	moved := net.JoinHostPort(one.Host, strconv.Itoa(port))
	sinks := subscribeMany(newClient(t, Config{AddrList: []string{one.CAAddr(), moved}, RepeaterPort: uint16(beacons)}))
	allUp(t, sinks, 1)
	one.Stop()
	epics.StartIOCAt(t, one.Host, port, passive(manyChannels))
	comeBack(t, sinks, 2)
}

// comeBack waits until channels are connected again.
func comeBack(t *testing.T, sinks []tally, n int) {
	t.Helper()
	t.Logf("connected again %v after the server was there", allUp(t, sinks, n))
}
