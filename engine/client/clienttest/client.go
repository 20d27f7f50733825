package clienttest

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
)

// ByUDP returns a configuration that sends searches to addresses by UDP.
func ByUDP(addresses ...string) client.Config { return client.Config{AddrList: addresses} }

// ByTCP returns a configuration that sends searches to name servers over TCP.
func ByTCP(addresses ...string) client.Config { return client.Config{NameServers: addresses} }

// Start starts a client. The client is closed at the end of the test.
func Start[C capture.Source, F any](t testing.TB, newClient func(config F) (C, error), config F) C {
	t.Helper()
	c, err := newClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// SubscribeAll subscribes to the channels T:C0…, one for each sink.
func SubscribeAll[S any, P interface {
	*S
	capture.Sink
}](c capture.Source, sinks []S) {
	for i := range sinks {
		c.Subscribe(fmt.Sprintf("T:C%d", i), capture.SubscribeOptions{}, P(&sinks[i]))
	}
}

// Counters returns a database of n records T:C0… that count up ten times per second.
func Counters(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "record(calc, \"T:C%d\") { field(INPA, \"T:C%d\") field(CALC, \"A+1\") field(SCAN, \".1 second\") }\n", i, i)
	}
	return b.String()
}

// Passive returns a database of n records T:C0… that never change.
func Passive(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "record(ao, \"T:C%d\") { field(VAL, \"%d\") }\n", i, i)
	}
	return b.String()
}

// Await waits until a real server or socket makes a condition true.
func Await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Listen returns a UDP socket for a scripted server.
func Listen(t testing.TB) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Gather returns the values of counters and gauges by name and label values.
func Gather(t testing.TB, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

// Value returns the value of a counter or gauge.
func Value(m prometheus.Metric) float64 {
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		panic("BUG: " + err.Error())
	}
	return out.GetCounter().GetValue() + out.GetGauge().GetValue()
}
