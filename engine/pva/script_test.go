package pva

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
)

type recorder = clienttest.Recorder

// script is a scripted server. It answers like PVXS unless override handles the request.
type script struct {
	address string
	order   proto.Flags // FlagBig for a big-endian server
	typ     *proto.Type // type of all channels
	first   []any       // the fields of the first update
	methods []string
	// redirect has addresses of other servers by channel name. The server returns them in
	// answers to searches.
	redirect map[string]string
	guid     proto.GUID
	// override handles a request. If it returns true, the usual answer is not sent.
	override func(s *session, h *proto.Header, payload []byte) bool
	// greet is sent first instead of an offer.
	greet []byte
	// lacks has the names that the server does not have.
	lacks map[string]bool

	mu        sync.Mutex
	sessions  []*session
	login     proto.Login
	acked     map[uint32]uint32 // acknowledged updates by ioid
	requested map[uint32]string // pvRequests by ioid, with the way in which they were sent
	requests  [32]atomic.Int32  // number of requests by command
}

// session is the server's end of a circuit.
type session struct {
	*script
	conn  net.Conn
	types proto.Types
	subs  []uint32 // ioids in the order of START
}

const (
	nameServerAddr = "10.0.0.1:5075"
	otherAddr      = "10.0.0.2:5075"
)

var (
	int32s, texts1 = proto.Of(proto.Int32), proto.Of(proto.String)
	doubles1       = proto.Of(proto.Float64)

	alarmType = proto.NewStruct("alarm_t", "severity", int32s, "status", int32s, "message", texts1)
	timeType  = proto.NewStruct("time_t", "secondsPastEpoch", proto.Of(proto.Int64), "nanoseconds", int32s, "userTag", int32s)
	// scalarType has the numbers 1 value, 2 to 5 alarm, 6 to 9 timeStamp, 10 to 15 display.
	scalarType = proto.NewStruct("epics:nt/NTScalar:1.0", "value", doubles1, "alarm", alarmType, "timeStamp", timeType,
		"display", proto.NewStruct("", "limitLow", doubles1, "limitHigh", doubles1, "description", texts1, "units", texts1, "precision", int32s))
)

const (
	fieldAll, fieldValue, fieldSeverity, fieldMessage = 0, 1, 3, 5
	fieldSeconds, fieldNanos, fieldTag                = 7, 8, 9
	fieldHigh, fieldUnits                             = 12, 14

	seconds = 1_700_000_000
)

// scalar returns all fields of a value of scalarType.
func scalar(v float64) []any {
	return []any{v, 0, 0, "", int64(seconds), 0, 0, -1.0, 1.0, "a PV", "mA", 3}
}

// doubles returns a server of scalar channels.
func doubles(address string) *script {
	return &script{address: address, typ: scalarType, first: scalar(7), methods: []string{"anonymous", "ca"}, guid: proto.GUID{1}}
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
	s.mu.Lock()
	s.sessions = append(s.sessions, one)
	s.mu.Unlock()
	greeting := s.greet
	if greeting == nil {
		greeting = proto.AppendControl(nil, proto.SetByteOrder, one.flags(), 0)
		greeting = proto.AppendOffer(greeting, &proto.Offer{ReceiveBuffer: 1 << 16, Registry: 100, Methods: s.methods}, one.flags())
	}
	go clienttest.Serve(conn, greeting, one.handle)
}

// count returns how many requests of a kind the server received.
func (s *script) count(c proto.Command) int { return int(s.requests[c].Load()) }

// circuits returns how many circuits the server has had.
func (s *script) circuits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// last returns the latest circuit to the server.
func (s *script) last() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[len(s.sessions)-1]
}

func (s *session) flags() proto.Flags { return s.order | proto.FlagServer }

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

// answer returns the answer that PVXS would send.
func (s *session) answer(h *proto.Header, payload []byte) []byte {
	r := proto.NewReader(payload, h.Order())
	if h.Order() != proto.Order(s.order != 0) {
		panic("a request in the wrong byte order")
	}
	f := s.flags()
	switch h.Command {
	case proto.CmdConnectionValidate:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.login, _ = proto.ParseLogin(&r, &s.types)
		return proto.AppendValidated(nil, proto.Status{}, f)
	case proto.CmdSearch:
		return s.search(&r)
	case proto.CmdCreateChannel:
		channels, _ := proto.ParseCreateChannel(&r)
		return proto.AppendCreated(nil, &proto.Created{CID: channels[0].CID, SID: 100 + channels[0].CID}, f)
	case proto.CmdDestroyChannel:
		sid, cid, _ := proto.ParseDestroyChannel(&r)
		return proto.AppendDestroyChannel(nil, sid, cid, f)
	case proto.CmdEcho:
		return proto.End(proto.Begin(nil, proto.CmdEcho, f), 0)
	case proto.CmdMonitor:
		return s.monitor(&r)
	}
	return nil
}

func (s *session) search(r *proto.Reader) []byte {
	q, _ := proto.ParseSearch(r)
	var b []byte
	for _, ch := range q.Channels {
		if s.lacks[ch.Name] {
			continue
		}
		at := netip.MustParseAddrPort(cmp.Or(s.redirect[ch.Name], s.address))
		b = append(b, proto.AppendSearchResponse(nil, &proto.SearchResponse{
			GUID: s.guid, Sequence: q.Sequence, Server: at, Protocol: "tcp", Found: true, CIDs: []uint32{ch.CID},
		}, s.flags())...)
	}
	return b
}

func (s *session) monitor(r *proto.Reader) []byte {
	q := proto.ParseRequest(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case q.Sub&proto.SubInit != 0:
		t := r.Type(&s.types)
		if s.requested == nil {
			s.requested, s.acked = map[uint32]string{}, map[uint32]uint32{}
		}
		s.requested[q.IOID] = fmt.Sprint(q.Sub, " ", describe(t), string(r.Value(nil, t, &s.types)))
		return proto.AppendInitAnswer(nil, proto.CmdMonitor, proto.Answer{IOID: q.IOID, Sub: proto.SubInit}, proto.Status{}, s.typ, s.flags())
	case q.Sub == proto.SubStart:
		s.subs = append(s.subs, q.IOID)
		return s.update(q.IOID, []int{fieldAll}, s.first...)
	case q.Sub == proto.SubPipeline:
		s.acked[q.IOID] += r.Uint32()
	}
	return nil
}

// describe returns the field names of a structure as a text, so that tests can compare them.
func describe(t *proto.Type) string {
	text := ""
	for i, name := range t.Names {
		text += name + "{" + describe(t.Members[i]) + "}"
	}
	return text
}

// update returns an update of the fields with the given numbers and values.
func (s *session) update(ioid uint32, changed []int, values ...any) []byte {
	return s.overrun(ioid, nil, changed, values...)
}

// overrun returns an update in which some fields were overrun.
func (s *session) overrun(ioid uint32, overrun []int, changed []int, values ...any) []byte {
	o := proto.Order(s.order != 0)
	b := proto.BeginAnswer(nil, proto.CmdMonitor, proto.Answer{IOID: ioid}, s.flags())
	b = appendValues(proto.AppendBitSet(b, bitSet(changed), o), o, values...)
	return proto.End(proto.AppendBitSet(b, bitSet(overrun), o), 0)
}

func bitSet(numbers []int) (set proto.BitSet) {
	for _, n := range numbers {
		set.Add(n)
	}
	return set
}

// appendValues appends values in the encoding of their types.
func appendValues(b []byte, o proto.Order, values ...any) []byte {
	for _, v := range values {
		switch v := v.(type) {
		case float64:
			b = o.AppendUint64(b, math.Float64bits(v))
		case int64:
			b = o.AppendUint64(b, uint64(v))
		case int:
			b = o.AppendUint32(b, uint32(v))
		case bool:
			b = append(b, map[bool]byte{true: 2}[v])
		case string:
			b = proto.AppendString(b, v, o)
		case []float64:
			b = proto.AppendSize(b, len(v), o)
			for _, f := range v {
				b = o.AppendUint64(b, math.Float64bits(f))
			}
		case []string:
			b = proto.AppendSize(b, len(v), o)
			for _, s := range v {
				b = proto.AppendString(b, s, o)
			}
		case []byte:
			b = append(b, v...)
		default:
			panic("BUG: no such value")
		}
	}
	return b
}

// bubble runs a test with one client in a simulated network, with the clock of package
// synctest.
func bubble(t *testing.T, f func(t *testing.T, n *clienttest.Network, c *Client), servers ...*script) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := clienttest.NewNetwork(servers...)
		f(t, n, clienttest.Start(t, New, config(n)))
	})
}
