package ca

import (
	"errors"
	"io"
	"math"
	"testing"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

// still is a configuration in which the PVs with index 0 stay at tick 1 during a test.
var still = config{channels: 2, rate: 0.001}

func TestUnknownChannelsAreRefused(t *testing.T) {
	c := dial(t, offline(t, still))
	c.send(proto.AppendCreateChan(nil, "SIM:RAMP:0002", 9))
	if m := c.want(proto.CmdCreateChFail); m.P1 != 9 {
		t.Errorf("the server refused channel %d, want 9", m.P1)
	}
	if _, native := c.create("SIM:RAMP:0001", 10); native != proto.Double {
		t.Errorf("RAMP has native type %v", native)
	}
}

// TestReadsInEveryType compares reads of all kinds in all types with the results of Value.
func TestReadsInEveryType(t *testing.T) {
	c := dial(t, offline(t, still))
	for _, kind := range sim.Kinds() {
		sid, native := c.create("SIM:"+kind.String()+":0000", 1)
		for typ := proto.String; typ.Valid(); typ++ {
			c.send(proto.AppendReadNotify(nil, typ, 0, sid, uint32(typ)))
			m := c.want(proto.CmdReadNotify)
			if m.P2 != uint32(typ) || m.Type != uint16(typ) {
				t.Fatalf("%v %v: answer %+v", kind, typ, m.Header)
			}
			want := proto.StatusNormal
			if kind == sim.String && typ.Native() != proto.String {
				want = proto.StatusNoConvert
			}
			if got := proto.Status(m.P1); got != want {
				t.Errorf("%v %v: status %v, want %v", kind, typ, got, want)
				continue
			}
			if want == proto.StatusNormal {
				checkRead(t, kind, native, typ, m)
			}
		}
		c.send(proto.AppendClearChannel(nil, sid, 1))
		c.want(proto.CmdClearChannel)
	}
}

// checkRead checks an answer with the value of PV 0 of a kind, which is at tick 1.
func checkRead(t *testing.T, kind sim.Kind, native, typ proto.DBR, m message) {
	t.Helper()
	if want := testEncoder().set.Elements(kind); m.Count != uint32(want) || len(m.payload) != proto.Padded(typ.PayloadSize(want)) {
		t.Fatalf("%v %v: %d elements in %d bytes", kind, typ, m.Count, len(m.payload))
	}
	v := value(kind, 0, 1)
	if typ.Native() != native {
		v = testEncoder().value(sim.PV{Kind: kind}, typ.Native(), waveElements, 1)
	}
	bare := proto.AppendValue(nil, typ, kind == sim.Wave, &v, testEncoder().set.Metadata(kind))
	got := m.payload
	if typ.Form() == proto.TIME { // other tests check the time
		copy(bare[4:12], got[4:12])
	}
	if string(got) != string(bare) {
		t.Errorf("%v %v: got %x, want %x", kind, typ, got, bare)
	}
}

// testEncoder returns an encoder for the PVs of test servers.
func testEncoder() *encoder { return &encoder{set: sim.NewSet("SIM", sim.Kinds(), 1, waveElements)} }

func TestConversions(t *testing.T) {
	float32of := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	for _, c := range []struct {
		kind  sim.Kind
		index int32
		tick  int64
		to    proto.DBR
		word  uint64
		text  string
	}{
		{sim.Ramp, 1, 70000, proto.Long, 70001, ""},
		{sim.Ramp, 1, 70000, proto.String, 0, "70001"},
		{sim.Sine, 0, 75, proto.String, 0, "-10.000"},
		{sim.Sine, 0, 75, proto.Short, ^uint64(9), ""},
		{sim.Sine, 0, 25, proto.Float, float32of(10), ""},
		{sim.Enum, 0, 24, proto.String, 0, "Fault"},
		{sim.Enum, 0, 24, proto.Double, math.Float64bits(3), ""},
		{sim.Long, 0, 5, proto.Float, float32of(5), ""},
		{sim.Long, 0, 5, proto.String, 0, "5"},
		{sim.Alarm, 0, 5, proto.String, 0, "95.0"},
		{sim.String, 0, 5, proto.String, 0, "value 5"},
	} {
		s := testEncoder().value(sim.PV{Kind: c.kind, Index: c.index}, c.to, 1, c.tick)
		if s.Word != c.word || string(s.Bytes) != c.text {
			t.Errorf("%v at tick %d as %v: got %x %q, want %x %q", c.kind, c.tick, c.to, s.Word, s.Bytes, c.word, c.text)
		}
	}
}

func TestWrongRequestsAreAnsweredAndTheCircuitContinues(t *testing.T) {
	c := dial(t, offline(t, still))
	sid, _ := c.create("SIM:STRING:0000", 5)
	str, dbl := proto.String.In(proto.TIME), proto.Double.In(proto.TIME)
	c.send(proto.AppendEventAdd(nil, str, 1, sid, 77, maskValue))
	c.want(proto.CmdEventAdd)
	for _, r := range []struct {
		what string
		req  []byte
		cid  uint32
		want proto.Status
	}{
		{"conversion", proto.AppendEventAdd(nil, dbl, 1, sid, 1, maskValue), 5, proto.StatusNoConvert},
		{"type", proto.AppendEventAdd(nil, 35, 1, sid, 1, maskValue), 5, proto.StatusBadType},
		{"count", proto.AppendEventAdd(nil, str, 2, sid, 1, maskValue), 5, proto.StatusBadCount},
		{"mask", proto.AppendEventAdd(nil, str, 1, sid, 1, 0), 5, proto.StatusBadMask},
		{"id in use", proto.AppendEventAdd(nil, str, 1, sid, 77, maskValue), 5, proto.StatusBadMonitorID},
		{"channel", proto.AppendEventAdd(nil, str, 1, sid+1, 1, maskValue), noChannel, proto.StatusBadChannelID},
		{"cancel", proto.AppendEventCancel(nil, str, 1, sid, 78), 5, proto.StatusBadMonitorID},
		{"clear", proto.AppendClearChannel(nil, sid+1, 5), noChannel, proto.StatusBadChannelID},
		{"write", proto.AppendHeader(nil, proto.Header{Command: proto.CmdWrite, P1: sid, Count: 1}), 5, proto.StatusNoWriteAccess},
		{"read", proto.AppendHeader(nil, proto.Header{Command: proto.CmdRead, P1: sid, Count: 1}), 5, proto.StatusUnavailable},
	} {
		c.send(r.req)
		m := c.want(proto.CmdError)
		if f, err := proto.ParseError(&m.Header, m.payload); err != nil || f.Status != r.want || m.P1 != r.cid {
			t.Errorf("%s: got %v for channel %d, want %v for %d", r.what, f, m.P1, r.want, r.cid)
		}
	}
	c.send(proto.AppendWriteNotify(nil, proto.String, 1, sid, 3, make([]byte, 40)))
	if m := c.want(proto.CmdWriteNotify); proto.Status(m.P1) != proto.StatusNoWriteAccess || m.P2 != 3 {
		t.Errorf("the answer to a write is %+v", m.Header)
	}
	c.send(proto.AppendEcho(nil))
	c.want(proto.CmdEcho)
}

func TestNonsenseEndsTheCircuitWithAReason(t *testing.T) {
	s := offline(t, still)
	for what, req := range map[string][]byte{
		"command":   proto.AppendHeader(nil, proto.Header{Command: 999}),
		"too large": proto.AppendHeader(nil, proto.Header{Command: proto.CmdWrite, Size: 1 << 20, Count: 1}),
	} {
		c := dial(t, s)
		c.send(req)
		c.want(proto.CmdError)
		if _, err := c.in.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v, want the end of the circuit", what, err)
		}
	}
	dial(t, s).create("SIM:LONG:0000", 1) // the server still serves other clients
}

func TestRequestsInPiecesAreTheSame(t *testing.T) {
	c := dial(t, offline(t, still))
	for _, b := range proto.AppendCreateChan(nil, "SIM:SINE:0001", 3) {
		c.send([]byte{b})
	}
	c.want(proto.CmdAccessRights)
	c.want(proto.CmdCreateChan)
}

func TestClearedChannelSendsNoMore(t *testing.T) {
	c := dial(t, offline(t, config{channels: 1, rate: 1000}))
	sid, native := c.create("SIM:RAMP:0000", 1)
	c.send(proto.AppendEventAdd(nil, native.In(proto.TIME), 1, sid, 1, maskValue))
	c.want(proto.CmdEventAdd)
	c.send(proto.AppendEcho(proto.AppendClearChannel(nil, sid, 1)))
	for c.next().Command != proto.CmdClearChannel {
		continue
	}
	c.want(proto.CmdEcho) // the server sent nothing before it
	c.send(proto.AppendReadNotify(nil, native, 1, sid, 4))
	if m := c.want(proto.CmdReadNotify); proto.Status(m.P1) != proto.StatusBadChannelID {
		t.Errorf("the status of a read of a cleared channel is %v", proto.Status(m.P1))
	}
}

func TestMemoryOfACircuitIsBounded(t *testing.T) {
	s := offline(t, still)
	c := newSession(s, circuit.New(s.Circuits, io.Discard))
	c.memory = maxFrames - proto.HeaderSize
	req := proto.AppendCreateChan(nil, "SIM:RAMP:0000", 1)
	req = proto.AppendEventAdd(req, proto.Double.In(proto.TIME), 1, 1, 1, maskValue)
	if _, err := c.Handle(req); err != nil || len(c.places) != 0 {
		t.Errorf("the circuit has %d subscriptions, %v", len(c.places), err)
	}
	c.memory = 0
	for range 1000 { // the server removes cancelled subscriptions even without a turn between the requests
		req := proto.AppendEventAdd(nil, proto.Double.In(proto.TIME), 1, 1, 1, maskValue)
		req = proto.AppendEventCancel(req, proto.Double.In(proto.TIME), 1, 1, 1)
		if _, err := c.Handle(req); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.slices[0].every.frames); n > 200 || c.memory != 0 {
		t.Errorf("the frames have %d bytes, but %d bytes are counted", n, c.memory)
	}
}

func TestSeverityComesWithTheValue(t *testing.T) {
	c := dial(t, offline(t, still))
	sid, native := c.create("SIM:ALARM:0000", 1)
	c.send(proto.AppendEventAdd(nil, native.In(proto.TIME), 1, sid, 1, maskValue))
	_, s := c.event()
	if s.Tag.Severity() != sample.Major || s.Tag.StatusName() != "HIHI" {
		t.Errorf("got alarm %v %v", s.Tag.Severity(), s.Tag.StatusName())
	}
}
