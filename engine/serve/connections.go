package serve

import (
	"net"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Bounds of the connections of a server.
const (
	maxConnections     = 2048
	connectionsPerHost = 512
)

// connections is a listener that bounds how many connections are open, and how many of them one host has:
//
//	Accept ─▶ the host has too many ────────────────▶ close
//	          too many are open, and another host has
//	          more of them: close the oldest of that host ─▶ server
//
// So a host with many connections cannot keep others from connecting, such as the probes of Kubernetes.
type connections struct {
	net.Listener
	total, perHost int
	closed         prometheus.Counter

	mu    sync.Mutex
	open  int
	hosts map[string][]*connection // the oldest first
}

// LimitConnections returns a function that makes listeners bound the connections which they accept, each
// for itself.
func LimitConnections(reg prometheus.Registerer) func(net.Listener) net.Listener {
	closed := promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: "http", Name: "connections_closed_total",
		Help: "Connections that the server closed because it, or their host, had too many of them.",
	})
	return func(l net.Listener) net.Listener {
		return limitConnections(l, maxConnections, connectionsPerHost, closed)
	}
}

func limitConnections(l net.Listener, total, perHost int, closed prometheus.Counter) net.Listener {
	return &connections{Listener: l, total: total, perHost: perHost, hosts: map[string][]*connection{}, closed: closed}
}

// Accept implements net.Listener.
func (l *connections) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: raw, of: l, host: hostOf(raw.RemoteAddr().String())}
		surplus := l.add(c)
		if surplus != nil {
			l.closed.Inc()
			_ = surplus.Conn.Close() // an error means that the client has closed it
		}
		if surplus != c {
			return c, nil
		}
	}
}

// add counts a connection. It returns a connection to close, if there are too many: another one, which does
// not count any more, or c itself.
func (l *connections) add(c *connection) (surplus *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := len(l.hosts[c.host])
	if own >= l.perHost {
		return c
	}
	if l.open >= l.total {
		most := l.busiestLocked()
		if len(l.hosts[most]) <= own+1 {
			return c
		}
		surplus = l.hosts[most][0]
		l.removeLocked(surplus)
	}
	l.open++
	l.hosts[c.host] = append(l.hosts[c.host], c)
	return surplus
}

// busiestLocked returns the host with the most connections.
func (l *connections) busiestLocked() (most string) {
	for host, list := range l.hosts {
		if len(list) > len(l.hosts[most]) {
			most = host
		}
	}
	return most
}

// removeLocked stops counting a connection, if it counts.
func (l *connections) removeLocked(c *connection) {
	list := l.hosts[c.host]
	for i := range list {
		if list[i] != c {
			continue
		}
		l.open--
		if list = append(list[:i], list[i+1:]...); len(list) == 0 {
			delete(l.hosts, c.host)
		} else {
			l.hosts[c.host] = list
		}
		return
	}
}

// connection is a connection that counts until it is closed.
type connection struct {
	net.Conn
	of   *connections
	host string
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.removeLocked(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends what the server sends. The server needs it to close a connection without losing its last
// answer.
func (c *connection) CloseWrite() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return nil
}
