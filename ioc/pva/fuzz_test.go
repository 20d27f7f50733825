package pva

import (
	"bytes"
	"net/netip"
	"testing"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/ioc/circuit"
)

// FuzzRequests passes bytes of a client to a circuit in two pieces, with turns between them.
// For any bytes, the circuit must send only complete frames, and its maps and groups must be
// consistent.
func FuzzRequests(f *testing.F) {
	head := func(sub uint8) []byte {
		return proto.AppendRequest(nil, proto.CmdMonitor, proto.Request{SID: 1, IOID: 1, Sub: sub}, 0)
	}
	sub := proto.AppendLogin(nil, &proto.Login{Registry: 1, Method: proto.CA, User: "me", Host: "here"}, 0)
	sub = proto.AppendCreateChannel(sub, 1, "SIM:RAMP:0000", 0)
	sub = append(sub, request{cmd: proto.CmdMonitor, sid: 1, ioid: 1, window: 2}.bytes(0)...)
	sub = append(sub, head(proto.SubStart)...)
	f.Add(sub, uint(50))
	f.Add(proto.AppendAck(sub, 1, 1, 5, 0), uint(len(sub)))
	f.Add(append(bytes.Clone(sub), head(proto.SubStop)...), uint(len(sub)))
	f.Add(append(bytes.Clone(sub), head(proto.SubDestroy)...), uint(len(sub)))
	f.Add(proto.AppendDestroyChannel(bytes.Clone(sub), 1, 1, 0), uint(len(sub)))
	f.Add(proto.AppendGetField(bytes.Clone(sub), 1, 2, "alarm", 0), uint(3))
	sub = proto.AppendCreateChannel(sub, 2, "SIM:WAVE:0001", 0)
	get := request{cmd: proto.CmdGet, sid: 2, ioid: 2, fields: fields("value", none, "alarm", none)}
	sub = append(sub, get.bytes(proto.FlagBig)...)
	f.Add(proto.AppendRequest(sub, proto.CmdGet, proto.Request{SID: 2, IOID: 2, Sub: proto.SubDestroy}, 0), uint(90))
	f.Fuzz(func(t *testing.T, b []byte, cut uint) {
		s := offline(t, config{channels: 2})
		var out bytes.Buffer
		c := newSession(s, circuit.New(s.circuits, &out))
		done := 0
		for _, end := range []int{int(min(cut, uint(len(b)))), len(b)} {
			n, err := c.Handle(b[done:end])
			if n > end-done {
				t.Fatalf("the circuit handled %d of %d bytes", n, end-done)
			}
			if done += n; err != nil {
				break
			}
			for range 3 {
				if _, err := c.Circuit.Send(c, c.server.circuits.Schedule.Now()); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = c.Flush()
		checkFrames(t, out.Bytes())
		checkConsistency(t, c)
	})
}

func checkFrames(t *testing.T, b []byte) {
	t.Helper()
	for len(b) > 0 {
		var h proto.Header
		_, n, err := proto.ReadFrame(b, &h, 1<<24)
		if err != nil || h.Flags&proto.FlagServer == 0 {
			t.Fatalf("got frame %+v, %v, %d bytes are left", h, err, len(b))
		}
		b = b[n:]
	}
}

// checkConsistency checks that a session's maps and groups are consistent.
func checkConsistency(t *testing.T, c *session) {
	t.Helper()
	listed, started, monitors, shut := 0, 0, 0, 0
	for sid, ch := range c.channels {
		listed += len(ch.ops)
		for _, ioid := range ch.ops {
			op := c.ops[ioid]
			if op == nil || op.sid != sid || op.pv != ch.pv {
				t.Fatalf("channel %d has operation %d: %+v", sid, ioid, op)
			}
			if op.command == proto.CmdMonitor {
				monitors++
			}
			if !op.started {
				continue
			}
			started++
			s := c.group(op.place).subs[op.place.pos]
			if s.ioid != ioid || s.state&dead != 0 || s.pv != op.pv || s.shape != op.shape {
				t.Errorf("operation %d is %+v", ioid, s)
			}
			if s.window == 0 {
				shut++
			}
		}
	}
	alive := len(c.quiet.subs) - c.quiet.dead
	for _, g := range c.slices {
		alive += len(g.subs) - g.dead
	}
	if listed != len(c.ops) || started != alive || shut != c.shut || int64(monitors) != c.server.circuits.Counts.Subscriptions() {
		t.Errorf("%d of %d operations listed, %d of %d alive, %d of %d shut, %d monitors of %d counted",
			listed, len(c.ops), started, alive, c.shut, shut, monitors, c.server.circuits.Counts.Subscriptions())
	}
}

// FuzzDatagram answers a datagram with any bytes. The answers must be complete frames, and
// must not be larger than the requests.
func FuzzDatagram(f *testing.F) {
	f.Add(search(0, netip.AddrPort{}, 0, "SIM:RAMP:0001", "SIM:NONE"))
	f.Add(search(proto.SearchReply, netip.MustParseAddrPort("10.0.0.1:99"), proto.FlagBig))
	f.Add(search(0, netip.AddrPort{}, 0, "SIM:RAMP:0001")[:30])
	f.Fuzz(func(t *testing.T, b []byte) {
		s := offline(t, config{channels: 2})
		out, _ := s.AppendAnswer(nil, b, netip.MustParseAddrPort("127.0.0.1:40000"))
		checkFrames(t, out)
		if len(out) > 2*len(b) {
			t.Errorf("the answer to %[2]d bytes has %[1]d bytes", len(out), len(b))
		}
	})
}
