package ca

import (
	"cmp"
	"net"
	"net/netip"
	"sync/atomic"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
)

type recorder = clienttest.Recorder

// script is a scripted server. It answers like EPICS base unless override handles the request.
type script struct {
	address  string
	channel  proto.DBR // native type of all channels
	elements uint32
	value    sample.Sample
	// redirect has addresses of other servers by channel name. The server returns them in
	// answers to searches.
	redirect map[string]string
	// override handles a request. If it returns true, the usual answer is not sent.
	override func(s *session, h *proto.Header, payload []byte) bool
	// greet is sent first instead of VERSION.
	greet []byte
	// lacks has the names of channels that the server does not have. If silent is set, the
	// server has no channels.
	lacks  map[string]bool
	silent atomic.Bool
	// units is the unit of all channels.
	units string

	sessions []*session
	requests [32]atomic.Int32 // number of requests by command
}

// session is the server's end of a circuit.
type session struct {
	*script
	conn net.Conn
	subs []uint32 // subscription IDs in the order of EVENT_ADD
}

const (
	nameServerAddr = "10.0.0.1:5064"
	otherAddr      = "10.0.0.2:5064"
)

// doubles returns a server of scalar channels.
func doubles(address string) *script {
	return &script{address: address, channel: proto.Double, elements: 1, value: sample.Sample{Time: proto.EpicsEpoch * 1e9, Word: 7}, units: "mA"}
}

// config returns a Config with the network's name server.
func config(n *clienttest.Network) Config {
	return Config{Config: n.Config(nameServerAddr)}
}

// Address implements clienttest.Server.
func (s *script) Address() string { return s.address }

// Accept implements clienttest.Server.
func (s *script) Accept(conn net.Conn) {
	one := &session{script: s, conn: conn}
	s.sessions = append(s.sessions, one)
	greeting := s.greet
	if greeting == nil {
		greeting = proto.AppendVersion(nil, 0)
	}
	go clienttest.Serve(conn, greeting, one.handle)
}

// count returns how many requests of a kind the server received.
func (s *script) count(c proto.Command) int { return int(s.requests[c].Load()) }

// last returns the latest circuit to the server.
func (s *script) last() *session { return s.sessions[len(s.sessions)-1] }

// handle answers a request.
func (s *session) handle(b []byte) (used int) {
	var h proto.Header
	payload, used, err := proto.ReadFrame(b, &h, 1<<20)
	if err != nil {
		return 0
	}
	s.requests[h.Command].Add(1)
	if s.override == nil || !s.override(s, &h, payload) {
		s.write(s.answer(&h, payload))
	}
	return used
}

func (s *session) write(b []byte) { clienttest.Write(s.conn, b) }

// answer returns the answer that EPICS base would send.
func (s *session) answer(h *proto.Header, payload []byte) []byte {
	typ, array := proto.DBR(h.Type), s.elements != 1
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
		return proto.AppendCreateChanReply(b, s.channel, s.elements, h.P1, 100+h.P1)
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
	return proto.AppendEvent(nil, s.channel.In(proto.TIME), s.elements != 1, &v, nil, sub)
}

// properties returns an update of metadata.
func (s *session) properties(sub uint32) []byte {
	return proto.AppendEvent(nil, s.channel.In(proto.CTRL), false, &s.value, &sample.Metadata{Units: s.units}, sub)
}

// circuitAddr returns the address at which the server accepts circuits.
func (s *script) circuitAddr() netip.AddrPort { return netip.MustParseAddrPort(s.address) }
