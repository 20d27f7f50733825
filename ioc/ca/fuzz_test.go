package ca

import (
	"bytes"
	"testing"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/ioc/circuit"
)

// FuzzRequests passes bytes of a client to a circuit in two pieces, with turns between them.
// For any bytes, the circuit must send only complete frames, and its maps and groups must be
// consistent.
func FuzzRequests(f *testing.F) {
	sub := proto.AppendCreateChan(proto.AppendVersion(nil, 0), "SIM:RAMP:0000", 1)
	sub = proto.AppendCreateChan(sub, "SIM:STRING:0001", 2)
	sub = proto.AppendEventAdd(sub, proto.Double.In(proto.TIME), 1, 1, 1, maskValue)
	sub = proto.AppendEventAdd(sub, proto.String.In(proto.CTRL), 1, 2, 2, maskAlarm)
	f.Add(sub, uint(50))
	f.Add(proto.AppendEventCancel(sub, proto.Double.In(proto.TIME), 1, 1, 1), uint(len(sub)))
	f.Add(proto.AppendClearChannel(sub, 1, 1), uint(len(sub)))
	f.Add(proto.AppendReadNotify(sub, proto.Enum.In(proto.GR), 0, 1, 1), uint(len(sub)))
	f.Add(proto.AppendSearch(proto.AppendEventsOff(nil), "SIM:LONG:0001", 1, proto.DoReply), uint(3))
	f.Add(proto.AppendWriteNotify(sub, proto.Double, 1, 1, 1, make([]byte, 8)), uint(0))
	f.Fuzz(func(t *testing.T, b []byte, cut uint) {
		s := offline(t, config{channels: 2})
		var out bytes.Buffer
		c := newSession(s, circuit.New(s.Circuits, &out))
		cut = min(cut, uint(len(b)))
		done := 0
		for _, end := range []int{int(cut), len(b)} {
			n, err := c.Handle(b[done:end])
			if n > end-done {
				t.Fatalf("the circuit handled %d of %d bytes", n, end-done)
			}
			if done += n; err != nil {
				break
			}
			for range 3 {
				if _, err := c.Update(c); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = c.Flush()
		frames(t, out.Bytes())
		checkConsistency(t, c)
	})
}

// checkConsistency checks that a circuit's maps and groups are consistent.
func checkConsistency(t *testing.T, c *session) {
	t.Helper()
	listed := 0
	for sid, ch := range c.channels {
		listed += len(ch.subs)
		for _, id := range ch.subs {
			p, ok := c.places[id]
			if !ok || p.sid != sid {
				t.Errorf("channel %d has subscription %d at %+v", sid, id, p)
				continue
			}
			if s := c.group(p).subs[p.pos]; s.id != id || s.dead || s.pv != ch.pv {
				t.Errorf("subscription %d is %+v", id, s)
			}
		}
	}
	memory := 0
	for i := range c.slices {
		for _, g := range []*group{&c.slices[i].every, &c.slices[i].alarms} {
			for _, s := range g.subs {
				if !s.dead {
					memory += s.size()
				}
			}
		}
	}
	if listed != len(c.places) || int64(listed) != c.server.Circuits.Counts.Subscriptions() || memory != c.memory {
		t.Errorf("%d subscriptions in channels, %d in places, %d counted; %d bytes of frames, %d counted",
			listed, len(c.places), c.server.Circuits.Counts.Subscriptions(), memory, c.memory)
	}
}

// FuzzDatagram answers a datagram with any bytes. The answer must consist of complete frames.
// Without its VERSION it must be at most twice as large as the request.
func FuzzDatagram(f *testing.F) {
	req := proto.AppendUDPVersion(nil, 1)
	req = proto.AppendSearch(req, "SIM:RAMP:0001", 1, proto.DontReply)
	f.Add(proto.AppendSearch(req, "SIM:NONE", 2, proto.DoReply))
	f.Add(req[:20])
	f.Fuzz(func(t *testing.T, b []byte) {
		s := offline(t, config{channels: 2})
		out, _ := s.AppendAnswer(nil, b, s.Addr)
		frames(t, out)
		if len(out) > proto.HeaderSize+2*len(b) {
			t.Errorf("the answer to %[2]d bytes has %[1]d bytes", len(out), len(b))
		}
	})
}
