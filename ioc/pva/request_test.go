package pva

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/ioc/sim"
)

// get reads the value of an operation once.
func (c *client) get(ioid uint32, typ *proto.Type) values {
	c.t.Helper()
	c.send(proto.AppendRequest(nil, proto.CmdGet, proto.Request{IOID: ioid}, c.flags))
	m := c.want(proto.CmdGet)
	a := proto.ParseAnswer(&m.Reader, proto.CmdGet)
	if st := m.Status(); a.IOID != ioid || a.Sub != 0 || st.Err() != nil {
		c.t.Fatalf("reading a value: %+v, %v", a, st)
	}
	v := decode(c.t, &m.Reader, typ)
	if m.Len() != 0 {
		c.t.Fatalf("reading a value: %d bytes are left", m.Len())
	}
	return v
}

// TestReadsOfEveryKind reads PVs with clients of both byte orders, with and without a cache of
// types.
func TestReadsOfEveryKind(t *testing.T) {
	s := offline(t, still)
	for name, c := range map[string]*client{
		"little":   connect(t, s, 100, 0),
		"big":      connect(t, s, 100, proto.FlagBig),
		"no cache": connect(t, s, 0, 0),
	} {
		for _, k := range sim.Kinds() {
			p := sim.PV{Kind: k}
			sid := c.create("SIM:"+k.String()+":0000", 1)
			typ := c.begin(request{cmd: proto.CmdGet, sid: sid, ioid: uint32(k)})
			if again := c.begin(request{cmd: proto.CmdGet, sid: sid, ioid: 100 + uint32(k)}); !again.Equal(typ) {
				t.Errorf("%s, %v: the type is different the second time", name, k)
			}
			got := c.get(uint32(k), typ)
			want, severity := expected(s, p, 1)
			if diff := cmp.Diff(want, got.value()); diff != "" || got["alarm.severity"] != severity {
				t.Errorf("%s, %v: severity %v, want %v; value (-want +got):\n%s", name, k, got["alarm.severity"], severity, diff)
			}
			if got.time() != s.circuits.Schedule.Unix(s.circuits.Schedule.Due(s.circuits.Schedule.Slices())) {
				t.Errorf("%s, %v: got time %d", name, k, got.time())
			}
		}
	}
}

func TestProperties(t *testing.T) {
	s := offline(t, still)
	c := connect(t, s, 100, 0)
	read := func(name string) values {
		sid := c.create(name, 1)
		typ := c.begin(request{cmd: proto.CmdGet, sid: sid, ioid: sid})
		return c.get(sid, typ)
	}
	v := read("SIM:ALARM:0000")
	for path, want := range map[string]any{
		"alarm.severity": int64(2), "alarm.status": int64(1), "alarm.message": "HIHI",
		"display.limitHigh": 100., "display.units": "degC", "display.precision": int64(1),
		"valueAlarm.highWarningLimit": 80., "valueAlarm.highAlarmLimit": 90.,
	} {
		if v[path] != want {
			t.Errorf("%s is %v, want %v", path, v[path], want)
		}
	}
	if diff := cmp.Diff(s.set.Metadata(sim.Enum).Labels, read("SIM:ENUM:0000")["value.choices"]); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
}

func TestOnlyRequestedFieldsAreSent(t *testing.T) {
	c := connect(t, offline(t, still), 100, 0)
	sid := c.create("SIM:SINE:0000", 1)
	options := proto.NewStruct("", "_options", proto.NewStruct("", "x", none))
	for ioid, q := range []struct {
		fields *proto.Type
		want   []string
	}{
		{fields("value", none), []string{"value"}},
		{fields("value", options), []string{"value"}},
		{fields("alarm", proto.NewStruct("", "severity", none), "nonsense", none), []string{"alarm.severity"}},
		{fields("timeStamp", none, "value", none),
			[]string{"timeStamp.nanoseconds", "timeStamp.secondsPastEpoch", "timeStamp.userTag", "value"}},
		{fields("control", none), []string{"control.limitHigh", "control.limitLow", "control.minStep"}},
	} {
		typ := c.begin(request{cmd: proto.CmdGet, sid: sid, ioid: uint32(ioid), fields: q.fields})
		var got []string
		for name := range c.get(uint32(ioid), typ) {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, q.want) {
			t.Errorf("got %v, want %v", got, q.want)
		}
	}
}

func TestChannelsInOneMessage(t *testing.T) {
	c := connect(t, offline(t, still), 100, 0)
	b := proto.LittleEndian.AppendUint16(proto.Begin(nil, proto.CmdCreateChannel, 0), 3)
	for cid, name := range []string{"SIM:RAMP:0000", "SIM:RAMP:0002", "SIM:RAMP:0001.VAL"} {
		b = proto.AppendSearchChannel(b, uint32(cid), name, proto.LittleEndian)
	}
	c.send(proto.End(b, 0))
	for cid := range uint32(3) {
		m := c.want(proto.CmdCreateChannel)
		a, err := proto.ParseCreated(&m.Reader)
		if err != nil || a.CID != cid || (a.Status.Err() != nil) != (cid == 1) {
			t.Errorf("channel %d: got %+v, %v", cid, a, err)
		}
	}
}

func TestWrongRequestsAreAnsweredAndTheCircuitContinues(t *testing.T) {
	c := connect(t, offline(t, still), 100, 0)
	sid := c.create("SIM:RAMP:0000", 1)
	c.begin(request{cmd: proto.CmdGet, sid: sid, ioid: 1})
	init := func(cmd proto.Command, sid, ioid uint32, fields *proto.Type) []byte {
		return request{cmd: cmd, sid: sid, ioid: ioid, fields: fields}.bytes(0)
	}
	head := func(cmd proto.Command) []byte {
		return proto.AppendRequest(nil, cmd, proto.Request{SID: sid, IOID: 7}, 0)
	}
	for _, r := range []struct {
		what string
		cmd  proto.Command
		req  []byte
	}{
		{"channel of a get", proto.CmdGet, init(proto.CmdGet, sid+1, 7, nil)},
		{"channel of a monitor", proto.CmdMonitor, init(proto.CmdMonitor, sid+1, 7, nil)},
		{"id in use", proto.CmdMonitor, init(proto.CmdMonitor, sid, 1, nil)},
		{"no field", proto.CmdGet, init(proto.CmdGet, sid, 7, fields("nonsense", none))},
		{"operation", proto.CmdGet, head(proto.CmdGet)},
		{"put", proto.CmdPut, init(proto.CmdPut, sid, 7, nil)},
		{"put and get", proto.CmdPutGet, init(proto.CmdPutGet, sid, 7, nil)},
		{"process", proto.CmdProcess, init(proto.CmdProcess, sid, 7, nil)},
		{"call", proto.CmdRPC, init(proto.CmdRPC, sid, 7, nil)},
		{"array", proto.CmdArray, init(proto.CmdArray, sid, 7, nil)},
		{"field", proto.CmdGetField, proto.AppendGetField(nil, sid, 7, "value.nonsense", 0)},
		{"channel of a field", proto.CmdGetField, proto.AppendGetField(nil, sid+1, 7, "", 0)},
	} {
		c.send(r.req)
		m := c.want(r.cmd)
		a := proto.ParseAnswer(&m.Reader, r.cmd)
		if st := m.Status(); st.Err() == nil || m.Err() != nil || a.IOID != 7 && a.IOID != 1 {
			t.Errorf("%s: the answer to %+v is %v, %v", r.what, a, st, m.Err())
		}
	}
	for _, b := range [][]byte{ // requests without an answer
		proto.AppendDestroyRequest(nil, sid, 99, 0), proto.AppendAck(nil, sid, 99, 1, 0),
		proto.AppendDestroyChannel(nil, 99, 99, 0), head(proto.CmdMonitor), proto.AppendMessage(nil, &proto.Message{}, 0),
	} {
		c.send(b)
	}
	c.echo("still there")
}

// echo checks that the server sends nothing before the answer to an ECHO.
func (c *client) echo(text string) {
	c.t.Helper()
	c.send(proto.End(append(proto.Begin(nil, proto.CmdEcho, c.flags), text...), 0))
	if m := c.want(proto.CmdEcho); string(m.payload) != text {
		c.t.Errorf("the answer to ECHO %q is %q", text, m.payload)
	}
}

func TestTypesOfFields(t *testing.T) {
	c := connect(t, offline(t, still), 100, 0)
	sid := c.create("SIM:ENUM:0000", 1)
	for path, want := range map[string]*proto.Type{
		"": typeOf(sim.Enum), "alarm": alarmType, "value.choices": proto.Of(proto.String | proto.Array),
	} {
		c.send(proto.AppendGetField(nil, sid, 7, path, 0))
		m := c.want(proto.CmdGetField)
		a, st := proto.ParseAnswer(&m.Reader, proto.CmdGetField), m.Status()
		if got := m.Type(&c.types); a.IOID != 7 || st.Err() != nil || !got.Equal(want) {
			t.Errorf("type of field %q: got %v %v", path, st, got)
		}
	}
}

func TestControlMessages(t *testing.T) {
	c := connect(t, offline(t, still), 100, 0)
	for request, want := range map[proto.Control]proto.Control{proto.EchoRequest: proto.EchoResponse, proto.SetMarker: proto.AckMarker} {
		c.send(proto.AppendControl(nil, request, 0, 42))
		m := c.next()
		if got, ok := m.Control(); !ok || got != want || m.Header.Size != 42 {
			t.Errorf("the answer to control message %d is %+v", request, m.Header)
		}
	}
}

// segment returns a part of a message.
func segment(cmd proto.Command, flags proto.Flags, part []byte) []byte {
	h := proto.Header{Version: proto.Version, Command: cmd, Flags: flags, Size: uint32(len(part))}
	return append(proto.AppendHeader(nil, h), part...)
}

func TestSegmentsAreJoined(t *testing.T) {
	c := connect(t, offline(t, still), 100, 0)
	whole := proto.AppendCreateChannel(nil, 3, "SIM:RAMP:0000", 0)[proto.HeaderSize:]
	c.send(segment(proto.CmdCreateChannel, proto.FlagFirst, whole[:5]))
	c.send(segment(proto.CmdCreateChannel, proto.FlagFirst|proto.FlagLast, whole[5:9]))
	c.send(proto.AppendControl(nil, proto.SetByteOrder, 0, 0)) // may come between segments
	c.send(segment(proto.CmdCreateChannel, proto.FlagLast, whole[9:]))
	m := c.want(proto.CmdCreateChannel)
	if a, err := proto.ParseCreated(&m.Reader); err != nil || a.Status.Err() != nil || a.CID != 3 {
		t.Errorf("got %+v, %v", a, err)
	}
	c.echo("whole again")
}

func TestRequestsInPiecesAreTheSame(t *testing.T) {
	c := connect(t, offline(t, still), 100, 0)
	for _, b := range proto.AppendCreateChannel(nil, 3, "SIM:RAMP:0000", 0) {
		c.send([]byte{b})
	}
	c.want(proto.CmdCreateChannel)
}

func TestNonsenseEndsTheCircuit(t *testing.T) {
	s := offline(t, still)
	first, middle := proto.FlagFirst, proto.FlagFirst|proto.FlagLast
	for what, b := range map[string][]byte{
		"no magic":     []byte("GET / HTTP/1.1\r\n\r\n"),
		"too large":    proto.AppendHeader(nil, proto.Header{Version: 2, Command: proto.CmdPut, Size: 1 << 30}),
		"cut short":    segment(proto.CmdCreateChannel, 0, []byte{1, 0, 9}),
		"unknown type": segment(proto.CmdGet, 0, []byte{0, 0, 0, 0, 0, 0, 0, 0, proto.SubInit, 0xfe, 1, 0}),
		"no first":     segment(proto.CmdPut, proto.FlagLast, nil),
		"two firsts":   append(segment(proto.CmdPut, first, nil), segment(proto.CmdPut, first, nil)...),
		"no last":      append(segment(proto.CmdPut, first, nil), segment(proto.CmdPut, 0, nil)...),
		"another":      append(segment(proto.CmdPut, first, nil), segment(proto.CmdGet, middle, nil)...),
		"too many":     append(segment(proto.CmdPut, first, make([]byte, maxRequest)), segment(proto.CmdPut, middle, []byte{1})...),
	} {
		c := connect(t, s, 100, 0)
		c.send(b)
		c.ended(what)
	}
	connect(t, s, 100, 0).create("SIM:LONG:0000", 1) // the server still serves other clients
}

func TestNothingBeforeTheLogin(t *testing.T) {
	s := offline(t, still)
	c := dial(t, s)
	c.echo("that much")
	c.send(proto.AppendCreateChannel(nil, 1, "SIM:RAMP:0000", 0))
	c.ended("a channel")

	c = dial(t, s)
	c.send(proto.AppendLogin(nil, &proto.Login{Method: "x509"}, 0))
	m := c.want(proto.CmdConnectionValidated)
	if st := m.Status(); st.Err() == nil {
		t.Error("the server accepts a method that it did not offer")
	}
	c.ended("after it is refused")
}
