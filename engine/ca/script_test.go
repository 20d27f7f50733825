package ca

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
)

// network is a set of scripted servers, by address, that a Client dials in
// memory, so that time is synctest's.
type network struct {
	mu      sync.Mutex
	servers map[string]*script
	names   map[string]string // host names
	dials   map[string]int
}

// script is a server. It answers as EPICS base does, unless override does.
type script struct {
	address string
	channel proto.DBR // of all its channels
	count   uint32
	value   sample.Sample
	// redirect answers searches with another server.
	redirect map[string]string
	// override answers instead, if it returns true.
	override func(s *session, h *proto.Header, payload []byte) bool
	// greet is sent first, instead of VERSION.
	greet []byte
	// lacks are names that it has not; silent, it knows none.
	lacks  map[string]bool
	silent atomic.Bool
	// units are those of all its channels.
	units string

	sessions []*session
	requests [32]atomic.Int32 // by command
}

// session is a circuit as the server has it.
type session struct {
	*script
	conn  net.Conn
	hello []byte   // what it sends first
	subs  []uint32 // in the order of EVENT_ADD
}

const (
	nameServerAddr = "10.0.0.1:5064"
	otherAddr      = "10.0.0.2:5064"
)

func newNetwork(servers ...*script) *network {
	n := &network{servers: map[string]*script{}, names: map[string]string{}, dials: map[string]int{}}
	for _, s := range servers {
		n.servers[s.address] = s
	}
	return n
}

// doubles returns a server of scalar channels.
func doubles(address string) *script {
	return &script{address: address, channel: proto.Double, count: 1, value: sample.Sample{Time: proto.EpicsEpoch * 1e9, Word: 7}, units: "mA"}
}

// config returns a Config that knows the first server as name server.
func (n *network) config() Config {
	return Config{NameServers: []string{nameServerAddr}, Dial: n.dial, Resolve: n.resolve, User: "u", Host: "h"}
}

func (n *network) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ip, err := netip.ParseAddr(n.names[host])
	return []netip.Addr{ip}, err
}

func (n *network) dial(_ context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials[address]++
	s := n.servers[address]
	if s == nil {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	one := &session{script: s, conn: ours, hello: s.greet}
	s.sessions = append(s.sessions, one)
	go one.serve()
	return theirs, nil
}

// stop ends a server: its circuits break, and connecting is refused.
func (n *network) stop(s *script) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.servers, s.address)
	for _, one := range s.sessions {
		_ = one.conn.Close()
	}
}

// greet sets what a server sends first on circuits to come.
func (n *network) greet(s *script, b []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s.greet = b
}

// start lets a server that was stopped go on.
func (n *network) start(s *script) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[s.address] = s
}

// dialled returns how often a server was connected to, or tried to.
func (n *network) dialled(address string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials[address]
}

// asked returns how many requests of a kind came.
func (s *script) asked(c proto.Command) int { return int(s.requests[c].Load()) }

// last returns the latest circuit to a server.
func (s *script) last() *session { return s.sessions[len(s.sessions)-1] }

// serve answers requests until the circuit is closed.
func (s *session) serve() {
	defer s.conn.Close()
	if s.hello == nil {
		s.hello = proto.AppendVersion(nil, 0)
	}
	s.write(s.hello)
	var b []byte
	chunk := make([]byte, 4096)
	for {
		n, err := s.conn.Read(chunk)
		if err != nil {
			return
		}
		b = append(b, chunk[:n]...)
		for {
			var h proto.Header
			payload, used, err := proto.ReadFrame(b, &h, 1<<20)
			if err != nil {
				break
			}
			s.requests[h.Command].Add(1)
			if s.override == nil || !s.override(s, &h, payload) {
				s.write(s.answer(&h, payload))
			}
			b = b[used:]
		}
	}
}

func (s *session) write(b []byte) {
	if len(b) > 0 {
		_, _ = s.conn.Write(b) // fails when the client is gone
	}
}

// answer returns what EPICS base would say.
func (s *session) answer(h *proto.Header, payload []byte) []byte {
	typ, array := proto.DBR(h.Type), s.count != 1
	switch h.Command {
	case proto.CmdSearch:
		name := proto.Text(payload)
		if s.lacks[string(name)] || s.silent.Load() {
			return nil
		}
		at := cmp.Or(s.redirect[string(name)], s.address)
		return proto.AppendSearchReply(nil, netip.MustParseAddrPort(at), h.P1)
	case proto.CmdCreateChan:
		b := proto.AppendAccessRights(nil, h.P1, proto.RightRead)
		return proto.AppendCreateChanReply(b, s.channel, s.count, h.P1, 100+h.P1)
	case proto.CmdReadNotify:
		return proto.AppendReadReply(nil, typ, array, &s.value, &sample.Metadata{Units: s.units}, h.P2)
	case proto.CmdEventAdd:
		if h.P2&propertyBit != 0 {
			return s.properties(h.P2)
		}
		s.subs = append(s.subs, h.P2)
		return s.update(s.value.Word, h.P2)
	case proto.CmdClearChannel:
		return proto.AppendClearReply(nil, h.P1, h.P2)
	case proto.CmdEcho:
		return proto.AppendEcho(nil)
	}
	return nil
}

// update returns an update with a value.
func (s *session) update(word uint64, sub uint32) []byte {
	v := s.value
	v.Word = word
	return proto.AppendEvent(nil, s.channel.In(proto.TIME), s.count != 1, &v, nil, sub)
}

// properties returns an update of metadata.
func (s *session) properties(sub uint32) []byte {
	return proto.AppendEvent(nil, s.channel.In(proto.CTRL), false, &s.value, &sample.Metadata{Units: s.units}, sub)
}

// words returns the values that a recorder got.
func words(r *recorder) []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []uint64
	for _, s := range r.samples {
		out = append(out, s.Word)
	}
	return out
}

// told returns what a recorder was told beside samples.
func told(r *recorder) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.log...)
}

// start returns a client in the synctest bubble of a test, closed at its end.
func start(t *testing.T, config Config) (c *Client, stop func()) {
	t.Helper()
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c, func() { _ = c.Close() }
}

func (s *script) circuitAddr() netip.AddrPort { return netip.MustParseAddrPort(s.address) }
