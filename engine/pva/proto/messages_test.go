package proto

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// messages has one message of every kind that a single function parses, with its encoder and
// its parser.
var messages = []struct {
	name   string
	cmd    Command
	want   any
	encode func(dst []byte, f Flags) []byte
	parse  func(r *Reader) (any, error)
}{
	{"beacon", CmdBeacon, beacon, func(b []byte, f Flags) []byte { return AppendBeacon(b, &beacon, f) }, parser(ParseBeacon)},
	{"search", CmdSearch, search, func(b []byte, f Flags) []byte { return appendSearch(b, &search, f) }, parser(ParseSearch)},
	{"search of none", CmdSearch, discover, func(b []byte, f Flags) []byte { return appendSearch(b, &discover, f) }, parser(ParseSearch)},
	{"found", CmdSearchResponse, found, func(b []byte, f Flags) []byte { return AppendSearchResponse(b, &found, f) }, parser(ParseSearchResponse)},
	{"offer", CmdConnectionValidate, offer, func(b []byte, f Flags) []byte { return AppendOffer(b, &offer, f) }, parser(ParseOffer)},
	{"login", CmdConnectionValidate, login, func(b []byte, f Flags) []byte { return AppendLogin(b, &login, f) }, parseLogin},
	{"anonymous", CmdConnectionValidate, anonymous, func(b []byte, f Flags) []byte { return AppendLogin(b, &anonymous, f) }, parseLogin},
	{"validated", CmdConnectionValidated, refusal, func(b []byte, f Flags) []byte { return AppendValidated(b, refusal, f) }, parseStatus},
	{"create", CmdCreateChannel, []SearchChannel{{7, "SR01:PRES"}},
		func(b []byte, f Flags) []byte { return AppendCreateChannel(b, 7, "SR01:PRES", f) }, parser(ParseCreateChannel)},
	{"created", CmdCreateChannel, created, func(b []byte, f Flags) []byte { return AppendCreated(b, &created, f) }, parser(ParseCreated)},
	{"destroy", CmdDestroyChannel, [2]uint32{3, 7}, func(b []byte, f Flags) []byte { return AppendDestroyChannel(b, 3, 7, f) },
		func(r *Reader) (any, error) {
			sid, cid, err := ParseDestroyChannel(r)
			return [2]uint32{sid, cid}, err
		}},
	{"message", CmdMessage, warning, func(b []byte, f Flags) []byte { return AppendMessage(b, &warning, f) }, parser(ParseMessage)},
	{"request", CmdGet, get, func(b []byte, f Flags) []byte { return AppendRequest(b, CmdGet, get, f) },
		func(r *Reader) (any, error) { return ParseRequest(r), r.Err() }},
	{"init answer", CmdMonitor, Answer{4, SubInit}, func(b []byte, f Flags) []byte {
		return AppendInitAnswer(b, CmdMonitor, Answer{4, SubInit}, Status{}, specTime, f)
	}, parseInit(CmdMonitor)},
	{"get field answer", CmdGetField, Answer{IOID: 4}, func(b []byte, f Flags) []byte {
		return AppendInitAnswer(b, CmdGetField, Answer{IOID: 4}, Status{}, specTime, f)
	}, parseInit(CmdGetField)},
}

var (
	beacon   = Beacon{GUID{1, 2}, 3, 0x0405, netip.MustParseAddrPort("10.0.0.1:5075"), "tcp"}
	search   = Search{9, SearchReply | SearchUnicast, netip.MustParseAddrPort("[fe80::1]:40000"), []string{"tcp"}, []SearchChannel{{1, "a"}, {2, strings.Repeat("n", 300)}}}
	discover = Search{Sequence: 9, ReplyTo: netip.AddrPortFrom(netip.Addr{}, 5), Protocols: []string{"tcp"}}
	found    = SearchResponse{GUID{5}, 9, netip.MustParseAddrPort("127.0.0.1:5075"), "tcp", true, []uint32{1, 2}}

	offer     = Offer{0x4000, 0x7fff, []string{Anonymous, CA}}
	login     = Login{0x4000, 0x7fff, 0, CA, "user", "host"}
	anonymous = Login{ReceiveBuffer: 0x4000, Registry: 1, QoS: 2, Method: Anonymous}
	refusal   = Status{Kind: Error, Message: "no", Call: "here"}
	created   = Created{7, 3, Status{Kind: Warning, Message: "slow"}}
	warning   = Message{4, WarningMessage, "text"}
	get       = Request{3, 4, SubGet | SubDestroy}
)

func appendSearch(dst []byte, s *Search, f Flags) []byte {
	start := len(dst)
	dst = AppendSearchHead(dst, s.Sequence, s.Flags, s.ReplyTo, f)
	for _, c := range s.Channels {
		before := len(dst)
		dst = AppendSearchChannel(dst, c.CID, c.Name, f.order())
		if len(dst)-before != SearchChannelSize(len(c.Name)) {
			panic("BUG: SearchChannelSize")
		}
	}
	return FinishSearch(dst, start, len(s.Channels))
}

func parser[T any](parse func(*Reader) (T, error)) func(r *Reader) (any, error) {
	return func(r *Reader) (any, error) {
		v, err := parse(r)
		return v, err
	}
}

func parseLogin(r *Reader) (any, error) {
	v, err := ParseLogin(r, new(Types))
	return v, err
}

func parseStatus(r *Reader) (any, error) { return r.Status(), r.Err() }

func parseInit(c Command) func(r *Reader) (any, error) {
	return func(r *Reader) (any, error) {
		a := ParseAnswer(r, c)
		if s := r.Status(); s.Err() == nil {
			r.Type(nil)
		}
		return a, r.Err()
	}
}

var ports = cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })

func TestMessageRoundTrips(t *testing.T) {
	for _, m := range messages {
		for _, f := range []Flags{0, FlagBig, FlagServer, FlagBig | FlagServer} {
			b := m.encode([]byte("before"), f)[len("before"):]
			var h Header
			payload, n, err := ReadFrame(b, &h, 1<<16)
			if err != nil || n != len(b) || h.Command != m.cmd || h.Flags != f {
				t.Fatalf("%s: %+v, %v", m.name, h, err)
			}
			r := NewReader(payload, h.Order())
			got, err := m.parse(&r)
			if diff := cmp.Diff(m.want, got, ports); err != nil || diff != "" {
				t.Errorf("%s %x: %v (-want +got)\n%s", m.name, f, err, diff)
			}
			needed := len(payload) - r.Len()
			for cut := range needed {
				r := NewReader(payload[:cut], h.Order())
				if _, err := m.parse(&r); err == nil {
					t.Errorf("%s %x is parsed without an error from %d of %d bytes", m.name, f, cut, needed)
				}
			}
		}
	}
}

func TestSearchChannelSizes(t *testing.T) {
	for _, n := range []int{0, 1, 253, 254, 255, 500} {
		if got := len(AppendSearchChannel(nil, 1, strings.Repeat("n", n), BigEndian)); got != SearchChannelSize(n) {
			t.Errorf("a name of %d bytes needs %d bytes, but SearchChannelSize is %d", n, got, SearchChannelSize(n))
		}
	}
}

// TestUnspecifiedAddresses checks that an unspecified address is parsed as the zero address,
// which stands for the address of the sender.
func TestUnspecifiedAddresses(t *testing.T) {
	for _, a := range []string{"0.0.0.0", "::", "::ffff:0.0.0.0"} {
		want := found
		want.Server = netip.AddrPortFrom(netip.MustParseAddr(a), 5075)
		b := AppendSearchResponse(nil, &want, FlagServer)
		r := NewReader(b[HeaderSize:], LittleEndian)
		got, err := ParseSearchResponse(&r)
		if err != nil || got.Server.Addr().IsValid() || got.Server.Port() != 5075 {
			t.Errorf("%s is parsed as %v, %v", a, got.Server, err)
		}
	}
}

// TestLoginWithMore checks that a login may have other fields in addition to user and host, in
// any order.
func TestLoginWithMore(t *testing.T) {
	b := append(le32(1), 2, 0, 3, 0)
	b = AppendString(b, CA, LittleEndian)
	b = AppendType(b, NewStruct("auth", "roles", Of(String|Array), "host", Of(String), "user", Of(String), "n", Of(Int32)), LittleEndian)
	b = append(b, "\x01\x01r\x04home\x02me\x09\x00\x00\x00"...)
	r := NewReader(b, LittleEndian)
	got, err := ParseLogin(&r, nil)
	if want := (Login{1, 2, 3, CA, "me", "home"}); err != nil || got != want || r.Len() != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestStatuses(t *testing.T) {
	b := specified(t, "warning")
	r := NewReader(b, BigEndian)
	if s := r.Status(); s != (Status{Kind: Warning, Message: "Low memory"}) || s.Err() != nil {
		t.Errorf("%+v", s)
	}
	if b := AppendStatus(nil, Status{}, BigEndian); len(b) != 1 || b[0] != 0xff {
		t.Errorf("status OK is encoded as % x", b)
	}
	for _, kind := range []StatusKind{Error, Fatal} {
		if err := (Status{Kind: kind, Message: "no"}).Err(); err == nil || err.Error() != "no" {
			t.Error(err)
		}
	}
	if err := (Status{Kind: Fatal}).Err(); err.Error() != "status 3" {
		t.Error(err)
	}
	r = NewReader([]byte{4, 0, 0}, LittleEndian)
	if r.Status(); r.Err() == nil {
		t.Error("4 is accepted as a status")
	}
}

// TestOperations checks the parts of messages that follow the head of an operation.
func TestOperations(t *testing.T) {
	request := NewStruct("", "field", NewStruct(""))
	for _, sub := range []uint8{SubInit, SubInit | SubPipeline} {
		b := AppendInit(nil, CmdMonitor, Request{1, 2, sub}, request, nil, 4, 0)
		r := NewReader(b[HeaderSize:], LittleEndian)
		if q := ParseRequest(&r); q != (Request{1, 2, sub}) || !r.Type(nil).Equal(request) {
			t.Errorf("%+v, %v", q, r.Err())
		}
		if want := 4 * int(sub>>7); r.Len() != want {
			t.Errorf("%d bytes follow the head of the request, want %d", r.Len(), want)
		}
	}
	r := NewReader(AppendAck(nil, 1, 2, 3, FlagBig)[HeaderSize:], BigEndian)
	if q, n := ParseRequest(&r), r.Uint32(); q != (Request{1, 2, SubPipeline}) || n != 3 || r.Len() != 0 {
		t.Errorf("%+v, %d", q, n)
	}
	r = NewReader(AppendDestroyRequest(nil, 1, 2, 0)[HeaderSize:], LittleEndian)
	if a, b := r.Uint32(), r.Uint32(); a != 1 || b != 2 || r.Len() != 0 {
		t.Error(a, b)
	}
	r = NewReader(AppendGetField(nil, 1, 2, "alarm", 0)[HeaderSize:], LittleEndian)
	if a, b, s := r.Uint32(), r.Uint32(), r.String(); a != 1 || b != 2 || string(s) != "alarm" || r.Len() != 0 {
		t.Error(a, b, s)
	}
	failed := AppendInitAnswer(nil, CmdGet, Answer{4, SubInit}, refusal, nil, FlagServer)
	r = NewReader(failed[HeaderSize:], LittleEndian)
	if a, s := ParseAnswer(&r, CmdGet), r.Status(); a.IOID != 4 || s != refusal || r.Len() != 0 {
		t.Errorf("%+v, %+v, %d bytes left", a, s, r.Len())
	}
	for sub, want := range map[uint8]bool{0: false, SubInit: true, SubDestroy: true} {
		if (Answer{Sub: sub}).HasStatus(CmdMonitor) != want || !(Answer{Sub: sub}).HasStatus(CmdGet) {
			t.Errorf("HasStatus is wrong for subcommand %x", sub)
		}
	}
}
