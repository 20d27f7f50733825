package clienttest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/testclock"
)

// CheckEveryStep checks that the client receives every step of a database of Counters that the IOC sends, and closes the
// client. replaced returns how many steps of a record the IOC replaced before it sent them. It is nil if the IOC sends all.
func CheckEveryStep(t *testing.T, c capture.Source, records, steps int, replaced func(pv string) int) {
	t.Helper()
	sinks := make([]Recorder, records)
	SubscribeAll(c, sinks)
	for i := range sinks {
		Await(t, fmt.Sprint("updates of record ", i), func() bool { return sinks[i].Has(steps) })
	}
	for i := range sinks {
		missing := sinks[i].missingSteps(t, i)
		if missing > 0 && (replaced == nil || replaced(fmt.Sprint("T:C", i)) < missing) {
			t.Errorf("record %d: %d steps are missing that the IOC has sent", i, missing)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range sinks {
		if sinks[i].Connects != 1 {
			t.Errorf("record %d connected %d times", i, sinks[i].Connects)
		}
	}
}

// missingSteps returns how many steps of a counter the client did not pass on.
func (r *Recorder) missingSteps(t *testing.T, record int) (missing int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 1; i < len(r.Samples); i++ {
		from, to := r.Samples[i-1], r.Samples[i]
		step := int(math.Float64frombits(to.Word) - math.Float64frombits(from.Word))
		if step < 1 || to.Time <= from.Time {
			t.Errorf("record %d: step %d from %v to %v", record, step, from, to)
		}
		missing += step - 1
	}
	return missing
}

// CheckIOCComesBack checks that the channels of an IOC connect again after the IOC was
// stopped, and after it was killed. The IOC must have at least 10 Counters.
func CheckIOCComesBack(t *testing.T, c capture.Source, ioc *epics.IOC) {
	t.Helper()
	sinks := make([]Recorder, 10)
	SubscribeAll(c, sinks)
	for round, stop := range []func(){ioc.Stop, ioc.Kill} {
		for i := range sinks {
			Await(t, "an update", func() bool { return sinks[i].Has(round + 1) })
		}
		stop()
		for i := range sinks {
			Await(t, "the disconnect", func() bool { return sinks[i].View(func(r *Recorder) bool { return !r.Up && r.Cause != nil }) })
		}
		ioc.Start()
		for i := range sinks {
			Await(t, "the channel to come back", func() bool { return sinks[i].Back(round + 2) })
		}
	}
}

// CheckHosts checks that the client finds channels at the right addresses. hosts has the
// address of each channel.
func CheckHosts(t *testing.T, c capture.Source, hosts map[string]string) {
	t.Helper()
	for name, address := range hosts {
		r := &Recorder{}
		c.Subscribe(name, capture.SubscribeOptions{}, r)
		Await(t, name, func() bool { return r.Has(1) })
		if r.Info.Host != address {
			t.Errorf("the host of %s is %s, want %s", name, r.Info.Host, address)
		}
	}
}

// Loss describes a test in which a client loses a channel of a scripted server.
type Loss struct {
	Server string        // address of the server
	Value  uint64        // value that the server sends
	Cause  string        // cause of the disconnect, as the client reports it
	Within time.Duration // maximum time until the channel is connected again
}

// Check checks that a channel connects again after lose has broken its connection.
func (l Loss) Check(t *testing.T, c capture.Source, lose func()) {
	t.Helper()
	r := &Recorder{}
	c.Subscribe("PV", capture.SubscribeOptions{}, r)
	testclock.Advance(time.Minute)
	lose()
	testclock.Advance(l.Within)
	want := []string{
		"connected float64", "metadata mA", "disconnected: lost " + l.Server + ": " + l.Cause,
		"connected float64", "metadata mA",
	}
	if diff := cmp.Diff(want, r.Calls()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{l.Value, l.Value}, r.Words()); diff != "" || r.Early > 0 {
		t.Errorf("values (-want +got):\n%s, %d while not connected", diff, r.Early)
	}
}

// CheckCircuitIsShared checks that many channels of a scripted server share a circuit.
func CheckCircuitIsShared(t *testing.T, n *Network, c capture.Source, server string) {
	t.Helper()
	sinks := make([]Recorder, 3000)
	for i := range sinks {
		c.Subscribe("PV", capture.SubscribeOptions{}, &sinks[i])
	}
	testclock.Advance(10 * time.Second)
	for i := range sinks {
		if len(sinks[i].Words()) != 1 {
			t.Fatalf("channel %d got %v", i, sinks[i].Calls())
		}
	}
	if dials := n.Dials(server); dials != 1 {
		t.Errorf("the client opened %d circuits, want 1", dials)
	}
}

// CheckGarbage checks that a server that sends garbage affects only its own channel, BAD. The
// channel GOOD of another server must work. garbage is the address of the garbage server.
func CheckGarbage(t *testing.T, n *Network, c capture.Source, garbage string) {
	t.Helper()
	good, bad := &Recorder{}, &Recorder{}
	c.Subscribe("GOOD", capture.SubscribeOptions{}, good)
	c.Subscribe("BAD", capture.SubscribeOptions{}, bad)
	testclock.Advance(10 * time.Minute)
	if log := bad.Calls(); len(log) == 0 || slices.ContainsFunc(log, func(call string) bool { return !strings.Contains(call, garbage+", but not connected: ") }) {
		t.Errorf("the garbage server's channel got %v, want why it does not connect", log)
	}
	if len(good.Calls()) != 2 || len(good.Words()) != 1 {
		t.Errorf("the other channel got %v", good.Calls())
	}
	if dials := n.Dials(garbage); dials < 10 || dials > 60 {
		t.Errorf("%d circuits in 10 minutes, want a back-off to about 30 s", dials)
	}
}

// CheckSearchBackOff checks that a client searches less and less often for a channel that no
// server has. least is the minimum number of searches in the first second.
func CheckSearchBackOff(t *testing.T, c capture.Source, least int, searches func() int) {
	t.Helper()
	c.Subscribe("NOBODY", capture.SubscribeOptions{}, &Recorder{})
	testclock.Advance(time.Second)
	if got := searches(); got < least || got > 8 {
		t.Errorf("%d searches in the first second, want %d to 8", got, least)
	}
	testclock.Advance(10 * time.Minute)
	if got := searches(); got < 40 || got > 75 {
		t.Errorf("%d searches in ten minutes, want one every 5 s at first, and every 37 s at the end", got)
	}
}

// CheckClose checks that a closed subscription gets no more updates, even if an update is in
// flight, and that the client can then subscribe to another channel. value is the value that
// the server sends.
func CheckClose(t *testing.T, c capture.Source, value uint64, update func()) {
	t.Helper()
	closed, other := &Recorder{}, &Recorder{}
	sub := c.Subscribe("PV", capture.SubscribeOptions{}, closed)
	testclock.Advance(time.Second)
	sub.Close()
	sub.Close()
	update()
	c.Subscribe("OTHER", capture.SubscribeOptions{}, other)
	testclock.Advance(time.Second)
	if diff := cmp.Diff([]uint64{value}, closed.Words()); diff != "" || len(closed.Calls()) != 2 {
		t.Errorf("the closed subscription got calls %v, values (-want +got):\n%s", closed.Calls(), diff)
	}
	if diff := cmp.Diff([]uint64{value}, other.Words()); diff != "" {
		t.Errorf("the other subscription got values (-want +got):\n%s", diff)
	}
}

// CheckReadings compares the values and metadata that the client gets with those that another
// client reads. types has the type of each PV by name. read returns the results of the other
// client as JSON, one R for each PV. reading converts a sample and its metadata to an R.
func CheckReadings[R any](t *testing.T, c capture.Source, host string, types map[string]sample.Type,
	read func(names ...string) []byte, reading func(typ sample.Type, s *sample.Sample, m *sample.Metadata, want R) R) {
	t.Helper()
	sinks := map[string]*Recorder{}
	var names []string
	for name := range types {
		sinks[name] = &Recorder{}
		names = append(names, name)
		c.Subscribe(name, capture.SubscribeOptions{}, sinks[name])
	}
	var want map[string]R
	if err := json.Unmarshal(read(names...), &want); err != nil {
		t.Fatal(err)
	}
	for name, typ := range types {
		r := sinks[name]
		Await(t, name, func() bool {
			return r.View(func(r *Recorder) bool { return len(r.Samples) > 0 && r.Meta != nil })
		})
		if r.Info.Type != typ || r.Meta.Type != typ || r.Info.Host != host {
			t.Errorf("%s: %+v, want type %v", name, r.Info, typ)
		}
		got := reading(typ, &r.Samples[len(r.Samples)-1], r.Meta, want[name])
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s (-other +ours):\n%s", name, diff)
		}
	}
}

// SubscribeAndClose subscribes to PV 60 times, closes the subscriptions after 0 to 59 ms, and
// then waits for a minute.
func SubscribeAndClose(c capture.Source) {
	for after := range 60 {
		sub := c.Subscribe("PV", capture.SubscribeOptions{}, &Recorder{})
		testclock.Advance(time.Duration(after) * time.Millisecond)
		sub.Close()
	}
	testclock.Advance(time.Minute)
}

// CheckMetrics checks the metrics of a client whose server has all channels except NOBODY.
// drops has the reasons for which the protocol drops updates.
func CheckMetrics(t *testing.T, c capture.Source, g prometheus.Gatherer, prefix string, drops ...string) {
	t.Helper()
	for _, name := range []string{"ONE", "TWO", "NOBODY"} {
		c.Subscribe(name, capture.SubscribeOptions{}, &Recorder{})
	}
	c.Subscribe("CLOSED", capture.SubscribeOptions{}, &Recorder{}).Close()
	testclock.Advance(time.Second)
	want := map[string]float64{
		"channels connected": 2, "channels connecting": 0, "channels searching": 1, "channels unusable": 0,
		"circuits": 1, "events_total": 2, "connect_failures_total": 0,
	}
	for _, reason := range drops {
		want["dropped_total "+reason] = 0
	}
	got := Gather(t, g)
	for name, v := range want {
		if value, ok := got[prefix+name]; !ok || value != v {
			t.Errorf("%s is %v, want %v", prefix+name, value, v)
		}
	}
	if got[prefix+"received_bytes_total"] == 0 || got[prefix+"sent_bytes_total"] == 0 {
		t.Errorf("no bytes counted: %v", got)
	}
}

// FromEnv is the function ConfigFromEnv of a protocol's client.
type FromEnv[F any] func(lookup func(name string) (value string, ok bool)) (F, error)

// Parse returns the configuration that an environment describes.
func (f FromEnv[F]) Parse(env map[string]string) (F, error) {
	return f(func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
}

// Check checks that an environment describes a configuration.
func (f FromEnv[F]) Check(t *testing.T, env map[string]string, want F) {
	t.Helper()
	got, err := f.Parse(env)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// CheckErrors checks that the error for a wrong value contains the name and the value of the
// variable. Each variable is a pair of name and value.
func (f FromEnv[F]) CheckErrors(t *testing.T, variables ...[2]string) {
	t.Helper()
	for _, v := range variables {
		_, err := f.Parse(map[string]string{v[0]: v[1]})
		if err == nil || !strings.Contains(err.Error(), v[0]) || !strings.Contains(err.Error(), v[1]) {
			t.Errorf("%s=%s: %v", v[0], v[1], err)
		}
	}
}

// CheckRefused checks that a client refuses configurations.
func CheckRefused[C capture.Source, F any](t *testing.T, newClient func(config F) (C, error), configs ...F) {
	t.Helper()
	for _, config := range configs {
		if c, err := newClient(config); err == nil {
			_ = c.Close()
			t.Errorf("%+v was accepted", config)
		}
	}
}
