package pva

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

// monitor creates a channel, and creates and starts a MONITOR of it. The channel and the
// MONITOR have the same ID.
func (c *client) monitor(name string, id uint32, q request) (sid uint32, typ *proto.Type) {
	c.t.Helper()
	sid, typ = c.prepare(name, id, q)
	c.command(sid, id, proto.SubStart)
	return sid, typ
}

// prepare does the same as monitor, but does not start the MONITOR.
func (c *client) prepare(name string, id uint32, q request) (sid uint32, typ *proto.Type) {
	c.t.Helper()
	q.cmd, q.sid, q.ioid = proto.CmdMonitor, c.create(name, id), id
	return q.sid, c.begin(q)
}

func (c *client) command(sid, ioid uint32, sub uint8) {
	c.send(proto.AppendRequest(nil, proto.CmdMonitor, proto.Request{SID: sid, IOID: ioid, Sub: sub}, c.flags))
}

// ramp returns the tick of an update of the RAMP with the given index.
func (u update) ramp(index int) int64 { return int64(u.fields["value"].(float64)) - int64(index) }

func TestEveryUpdateArrivesOnceAndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t, config{channels: 20, rate: 10})
		c := connect(t, s, 100, 0)
		types, last := make([]*proto.Type, 20), make([]update, 20)
		var start []byte
		for id := range uint32(20) {
			sid, typ := c.prepare(fmt.Sprintf("SIM:RAMP:%04d", id), id, request{})
			types[id] = typ
			start = append(start, proto.AppendRequest(nil, proto.CmdMonitor, proto.Request{SID: sid, IOID: id, Sub: proto.SubStart}, 0)...)
		}
		c.send(start)
		for range 20 {
			u := c.update(types...)
			if last[u.ioid] = u; len(u.fields) != 27 {
				t.Fatalf("the first update has %d fields", len(u.fields))
			}
		}
		for range 50 * 20 {
			u := c.update(types...)
			was, index := last[u.ioid], int(u.ioid)
			if u.ramp(index) != was.ramp(index)+1 || u.fields.time() != was.fields.time()+int64(100*time.Millisecond) {
				t.Fatalf("PV %d: got update %v after %v", index, u, was)
			}
			if u.fields.time() != time.Now().UnixNano() || !u.overrun.Empty() || len(u.fields) != 4 {
				t.Fatalf("PV %d: at %d got update %v", index, time.Now().UnixNano(), u)
			}
			last[u.ioid] = u
		}
		if n := s.circuits.Counts; n.Dropped() != 0 || n.Sent() < 51*20 || n.Subscriptions() != 20 {
			t.Errorf("%d updates sent, %d dropped, %d subscriptions", n.Sent(), n.Dropped(), n.Subscriptions())
		}
	})
}

// TestValuesOfEveryKind compares all updates with the results of Value.
func TestValuesOfEveryKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t, config{channels: 1, rate: 10})
		c := connect(t, s, 0, 0)
		var types []*proto.Type
		var sids []uint32
		for _, k := range sim.Kinds() {
			sid, typ := c.prepare("SIM:"+k.String()+":0000", uint32(k), request{})
			types, sids = append(types, typ), append(sids, sid)
		}
		for ioid, sid := range sids {
			c.command(sid, uint32(ioid), proto.SubStart)
		}
		alarms := map[uint32]int64{}
		first := map[uint32]int64{}
		for range len(types) * 400 {
			u := c.update(types...)
			p := sim.PV{Kind: sim.Kind(u.ioid)}
			tick := (u.fields.time() - s.circuits.Schedule.Unix(0)) / int64(100*time.Millisecond)
			want, severity := expected(s, p, tick)
			if fmt.Sprint(u.fields.value()) != fmt.Sprint(want) {
				t.Fatalf("%v at tick %d: %v, want %v", p.Kind, tick, u.fields.value(), want)
			}
			got, has := u.fields["alarm.severity"].(int64)
			if has != (first[u.ioid] == 0 || alarms[u.ioid] != severity) || has && got != severity {
				t.Fatalf("%v at tick %d: severity %v after %d, want %d", p.Kind, tick, got, alarms[u.ioid], severity)
			}
			first[u.ioid], alarms[u.ioid] = tick, severity
		}
	})
}

// TestSlowClientLosesWholeUpdatesThatAreCounted lets a client sleep for longer than the
// maximum lag of the circuit.
func TestSlowClientLosesWholeUpdatesThatAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t, config{channels: 1, rate: 10})
		c := connect(t, s, 0, 0)
		_, typ := c.monitor("SIM:RAMP:0000", 1, request{})
		u := c.update(typ)
		first, last, received, gaps := u.ramp(0), u.ramp(0), int64(1), 0
		for _, pause := range []time.Duration{0, 900 * time.Millisecond, 10 * time.Second, time.Minute, 0} {
			time.Sleep(pause)
			for range 20 {
				u := c.update(typ)
				if u.ramp(0) <= last || (u.ramp(0) > last+1) == u.overrun.Empty() {
					t.Fatalf("tick %d after tick %d, overrun %v", u.ramp(0), last, u.overrun)
				}
				if !u.overrun.Empty() {
					gaps++
				}
				last = u.ramp(0)
				received++
			}
		}
		missed := last - first + 1 - received
		if got := int64(s.circuits.Counts.Dropped()); missed < 580 || missed > 700 || got != missed || gaps != 2 {
			t.Errorf("the client missed %d updates in %d gaps, but %d are counted", missed, gaps, got)
		}
	})
}

// TestClosedWindowMergesUpdates lets a client acknowledge updates too late.
func TestClosedWindowMergesUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t, config{channels: 1, rate: 10})
		c := connect(t, s, 0, 0)
		sid, typ := c.monitor("SIM:RAMP:0000", 1, request{window: 3})
		var last int64
		for i := range int64(3) {
			u := c.update(typ)
			if i > 0 && u.ramp(0) != last+1 {
				t.Fatalf("tick %d after tick %d", u.ramp(0), last)
			}
			last = u.ramp(0)
		}
		for _, pause := range []time.Duration{150 * time.Millisecond, 250 * time.Millisecond, 10 * time.Second} {
			dropped := int64(s.circuits.Counts.Dropped())
			time.Sleep(pause)
			c.echo("nothing came")
			c.send(proto.AppendAck(nil, sid, 1, 1, 0))
			u := c.update(typ) // the server sends the missed update at once
			gap := u.ramp(0) - last - 1
			if age := time.Now().UnixNano() - u.fields.time(); age >= int64(100*time.Millisecond) || u.overrun.Has(1) != (gap > 0) {
				t.Errorf("after %v: tick %d after tick %d, age %v, overrun %v", pause, u.ramp(0), last, time.Duration(age), u.overrun)
			}
			if got := int64(s.circuits.Counts.Dropped()) - dropped; got != gap {
				t.Errorf("after %v: the client missed %d updates, but %d are counted", pause, gap, got)
			}
			last = u.ramp(0)
		}
	})
}

// TestPromptPipelineLosesNothing acknowledges half a window at a time, as PVXS does.
func TestPromptPipelineLosesNothing(t *testing.T) {
	for _, rate := range []float64{100, 0} {
		synctest.Test(t, func(t *testing.T) {
			s := offline(t, config{channels: 1, rate: rate})
			c := connect(t, s, 0, proto.FlagBig)
			sid, typ := c.monitor("SIM:RAMP:0000", 1, request{window: 4})
			last := c.update(typ).ramp(0)
			for i := range 1000 {
				u := c.update(typ)
				if u.ramp(0) != last+1 || !u.overrun.Empty() {
					t.Fatalf("%v Hz: tick %d after tick %d, overrun %v", rate, u.ramp(0), last, u.overrun)
				}
				last++
				if i%2 == 1 {
					c.send(proto.AppendAck(nil, sid, 1, 2, proto.FlagBig))
				}
			}
			if n := s.circuits.Counts.Dropped(); n != 0 {
				t.Errorf("%v Hz: %d updates dropped", rate, n)
			}
		})
	}
}

// TestFlatOutWaitsForAcknowledgements checks that a server without a clock drops nothing
// although one of two subscriptions is slow.
func TestFlatOutWaitsForAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t, config{channels: 2})
		c := connect(t, s, 0, 0)
		slow, _ := c.prepare("SIM:RAMP:0000", 0, request{window: 2})
		fast, typ := c.prepare("SIM:RAMP:0001", 1, request{})
		c.command(slow, 0, proto.SubStart)
		c.command(fast, 1, proto.SubStart)
		last := [2]int64{-1, -1}
		for turn := range int64(100) { // the first two turns need no acknowledgement
			for id := range uint32(2) {
				if u := c.update(typ); u.ioid != id || u.ramp(int(id)) != last[id]+1 || !u.overrun.Empty() {
					t.Fatalf("turn %d: got update %v after tick %d", turn, u, last[id])
				}
				last[id]++
			}
			if turn > 0 {
				time.Sleep(time.Second)
				c.echo("nothing came")
				c.send(proto.AppendAck(nil, slow, 0, 1, 0))
			}
		}
		if n := s.circuits.Counts.Dropped(); n != 0 {
			t.Errorf("%d updates dropped", n)
		}
	})
}

func TestStopAndStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t, config{channels: 1, rate: 10})
		c := connect(t, s, 0, 0)
		sid, typ := c.monitor("SIM:RAMP:0000", 1, request{})
		for range 3 {
			before := c.update(typ).ramp(0)
			c.command(sid, 1, proto.SubStop)
			c.echo("stopped")
			time.Sleep(5 * time.Second)
			c.command(sid, 1, proto.SubStart)
			u := c.update(typ)
			if u.ramp(0) < before+45 || len(u.fields) != 27 || !u.overrun.Empty() {
				t.Errorf("5 s after tick %d: got update %v", before, u)
			}
			if next := c.update(typ).ramp(0); next != u.ramp(0)+1 {
				t.Errorf("tick %d after tick %d", next, u.ramp(0))
			}
		}
		if n := s.circuits.Counts.Dropped(); n != 0 {
			t.Errorf("%d updates are counted as dropped while the monitor was stopped", n)
		}
	})
}

// TestEnds checks that ended operations send nothing more, and that other operations continue.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t, config{channels: 4, rate: 10})
		c := connect(t, s, 0, 0)
		var sids [4]uint32
		var typ *proto.Type
		var req []byte
		for id := range uint32(4) {
			sids[id] = c.create(fmt.Sprintf("SIM:RAMP:%04d", id), id)
			typ = c.begin(request{cmd: proto.CmdMonitor, sid: sids[id], ioid: id})
			req = append(req, proto.AppendRequest(nil, proto.CmdMonitor, proto.Request{SID: sids[id], IOID: id, Sub: proto.SubStart}, 0)...)
		}
		req = proto.AppendDestroyRequest(req, sids[0], 0, 0)
		req = append(req, proto.AppendRequest(nil, proto.CmdMonitor, proto.Request{SID: sids[1], IOID: 1, Sub: proto.SubDestroy}, 0)...)
		c.send(proto.AppendDestroyChannel(req, sids[2], 2, 0))
		ended, seen := false, [4]int{}
		for seen[3] < 20 {
			m := c.next()
			if m.Command == proto.CmdDestroyChannel {
				sid, cid, err := proto.ParseDestroyChannel(&m.Reader)
				if ended = true; sid != sids[2] || cid != 2 || err != nil {
					t.Errorf("the server ended channel %d, %d, %v", sid, cid, err)
				}
				continue
			}
			seen[c.parse(m, typ).ioid]++
		}
		if !ended || seen != [4]int{1, 1, 1, 20} || s.circuits.Counts.Subscriptions() != 1 {
			t.Errorf("channel ended %v, updates %v, %d subscriptions remain", ended, seen, s.circuits.Counts.Subscriptions())
		}
		c.begin(request{cmd: proto.CmdMonitor, sid: sids[0], ioid: 1}) // the ID is free again
	})
}

// TestAlarmsOnly requests a field that changes seldom, and one that never changes.
func TestAlarmsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offline(t, config{channels: 1, rate: 10})
		c := connect(t, s, 0, 0)
		sid, typ := c.prepare("SIM:ALARM:0000", 1, request{fields: fields("alarm", proto.NewStruct("", "severity", none))})
		c.begin(request{cmd: proto.CmdMonitor, sid: sid, ioid: 2, fields: fields("display", none)})
		c.command(sid, 1, proto.SubStart)
		c.command(sid, 2, proto.SubStart)
		began := time.Now()
		var severities []int64
		for len(severities) < 8 {
			if u := c.update(typ); u.ioid == 1 {
				severities = append(severities, u.fields["alarm.severity"].(int64))
			} else if u.fields["display.units"] != "degC" || time.Since(began) > time.Second {
				t.Errorf("got fields %v after %v", u.fields, time.Since(began))
			}
		}
		// The severity is MAJOR first, falls through MINOR to none, and rises again. This
		// happens twice.
		if fmt.Sprint(severities) != "[2 1 0 1 2 1 0 1]" || s.circuits.Counts.Dropped() != 0 {
			t.Errorf("got severities %v, %d updates dropped", severities, s.circuits.Counts.Dropped())
		}
	})
}

func TestNoAllocationPerEvent(t *testing.T) {
	s := offline(t, config{channels: 100})
	c := newSession(s, circuit.New(s.circuits, io.Discard))
	subscribed(t, s, c, 0)
	turn := func() { _, _ = c.Circuit.Send(c, s.circuits.Schedule.Now()) }
	for range 2 * 200 { // every alarm has occurred
		turn()
	}
	if n := testing.AllocsPerRun(10, turn); n > 0 {
		t.Errorf("%v allocations in a turn of 800 events", n)
	}
}

// subscribed subscribes to all PVs of a server.
func subscribed(t testing.TB, s *Server, c *session, window uint32) {
	t.Helper()
	req := proto.AppendLogin(nil, &proto.Login{Registry: 100}, 0)
	id := uint32(0)
	for name := range s.set.Names() {
		id++
		req = proto.AppendCreateChannel(req, id, name, 0)
		req = append(req, request{cmd: proto.CmdMonitor, sid: id, ioid: id, window: window}.bytes(0)...)
		req = append(req, proto.AppendRequest(nil, proto.CmdMonitor, proto.Request{SID: id, IOID: id, Sub: proto.SubStart}, 0)...)
	}
	if n, err := c.Handle(req); n != len(req) || err != nil {
		t.Fatalf("subscribing: the session handled %d of %d bytes, %v", n, len(req), err)
	}
}

// TestMemoryOfACircuitIsBounded requests all combinations of fields.
func TestMemoryOfACircuitIsBounded(t *testing.T) {
	s := offline(t, still)
	c := newSession(s, circuit.New(s.circuits, io.Discard))
	c.valid = true
	c.channels[1] = &channel{pv: sim.PV{Kind: sim.Ramp}}
	names := []any{"limitLow", none, "limitHigh", none, "units", none, "description", none, "precision", none}
	others := []any{"severity", none, "status", none, "message", none}
	for i := range uint32(1 << 8) {
		var display, alarm []any
		for bit := range 5 {
			if i>>bit&1 != 0 {
				display = append(display, names[2*bit:2*bit+2]...)
			}
		}
		for bit := range 3 {
			if i>>(5+bit)&1 != 0 {
				alarm = append(alarm, others[2*bit:2*bit+2]...)
			}
		}
		for j, value := range []string{"value", "timeStamp"} {
			f := fields(value, none, "display", proto.NewStruct("", display...), "alarm", proto.NewStruct("", alarm...))
			if _, err := c.Handle(request{cmd: proto.CmdGet, sid: 1, ioid: 2*i + uint32(j), fields: f}.bytes(0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(c.shapes) != maxShapes || len(c.ops) != len(c.channels[1].ops) || len(c.ops) >= 512 {
		t.Errorf("the session has %d shapes and %d operations, and the channel has %d operations", len(c.shapes), len(c.ops), len(c.channels[1].ops))
	}
}
