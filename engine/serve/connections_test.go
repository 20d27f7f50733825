package serve

import (
	"net"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// dialed is a connection from an address. It only notes that it was closed.
type dialed struct {
	net.Conn
	from   string
	closed bool
}

func (d *dialed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(d.from), Port: 99} }
func (d *dialed) Close() error         { d.closed = true; return nil }

// dials is a listener with connections from addresses.
type dials struct {
	net.Listener
	waiting []*dialed
}

func (d *dials) Accept() (net.Conn, error) {
	if len(d.waiting) == 0 {
		return nil, net.ErrClosed
	}
	next := d.waiting[0]
	d.waiting = d.waiting[1:]
	return next, nil
}

// TestConnectionsAreBounded checks that a host gets a bounded number of connections, that another host
// gets some although all are taken, and that closed connections do not count.
func TestConnectionsAreBounded(t *testing.T) {
	from, counted := &dials{}, prometheus.NewCounter(prometheus.CounterOpts{Name: "closed_total", Help: "Closed connections."})
	l := limitConnections(from, 6, 4, counted).(*connections)
	var all []*dialed
	var accepted []net.Conn
	dial := func(hosts ...string) {
		for _, host := range hosts {
			d := &dialed{from: host}
			all, from.waiting = append(all, d), append(from.waiting, d)
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted = append(accepted, c)
		}
	}
	check := func(what string, want ...int) {
		t.Helper()
		var closed []int
		for i, d := range all {
			if d.closed {
				closed = append(closed, i)
			}
		}
		if !slices.Equal(closed, want) {
			t.Errorf("%s: the connections %v are closed, want %v", what, closed, want)
		}
	}
	dial("10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1")
	check("a host with more than its share", 4, 5)
	dial("10.0.0.2", "10.0.0.2")
	check("a second host", 4, 5)
	dial("10.0.0.3")
	check("a third host, while all connections are taken", 0, 4, 5)
	dial("10.0.0.2", "10.0.0.3")
	check("a host with nearly as many connections as another, and one with fewer", 0, 1, 4, 5, 9)
	var m dto.Metric
	if err := l.closed.Write(&m); err != nil || m.GetCounter().GetValue() != 5 {
		t.Errorf("the metric is %v, %v", &m, err)
	}
	for _, c := range accepted {
		_ = c.Close()
		_ = c.Close()
	}
	if l.open != 0 || len(l.hosts) != 0 {
		t.Errorf("%d connections of %d hosts count, though all are closed", l.open, len(l.hosts))
	}
	dial("10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1")
	if l.open != 4 {
		t.Errorf("after closing, a host gets %d connections", l.open)
	}
}
