package ca

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

// ramp returns the tick of a sample of a RAMP.
func ramp(s sample.Sample, index int) int64 {
	return int64(sample.Float(sample.Float64, s.Word)) - int64(index)
}

// monitor creates a channel and subscribes to it. The channel and the subscription have the
// same ID.
func (c *client) monitor(name string, id uint32, mask uint16) {
	c.t.Helper()
	sid, native := c.create(name, id)
	c.send(proto.AppendEventAdd(nil, native.In(proto.TIME), 1, sid, id, mask))
}

func TestEveryUpdateArrivesOnceAndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, s := pipe(t, config{channels: 20, rate: 10})
		req := []byte(nil)
		for i := range uint32(20) {
			req = proto.AppendCreateChan(req, fmt.Sprintf("SIM:RAMP:%04d", i), i)
			req = proto.AppendEventAdd(req, proto.Double.In(proto.TIME), 1, i+1, i, maskValue)
		}
		c.send(req)
		last := map[uint32]sample.Sample{}
		for range 2 * 20 {
			c.next()
			c.next()
			id, v := c.event()
			last[id] = v
			if len(last) == 20 {
				break
			}
		}
		for range 50 * 20 {
			id, v := c.event()
			was, index := last[id], int(id)
			if ramp(v, index) != ramp(was, index)+1 || v.Time != was.Time+int64(100*time.Millisecond) {
				t.Fatalf("PV %d: tick %d at %d after tick %d at %d", id, ramp(v, index), v.Time, ramp(was, index), was.Time)
			}
			if v.Time != time.Now().UnixNano() {
				t.Fatalf("PV %d: an update of time %d arrived at %d", id, v.Time, time.Now().UnixNano())
			}
			if age := v.Time - began.UnixNano(); age%int64(100*time.Millisecond) != int64(index%10)*int64(10*time.Millisecond) {
				t.Fatalf("PV %d: the update is not in its slice, at %d", id, age)
			}
			last[id] = v
		}
		if n := s.Circuits.Counts; n.Dropped() != 0 || n.Sent() < 51*20 || n.Subscriptions() != 20 {
			t.Errorf("%d updates sent, %d dropped, %d subscriptions", n.Sent(), n.Dropped(), n.Subscriptions())
		}
	})
}

// TestSlowClientLosesWholeUpdatesThatAreCounted lets a client sleep for longer than the
// maximum lag of the circuit.
func TestSlowClientLosesWholeUpdatesThatAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, config{channels: 1, rate: 10, maxLag: time.Second})
		c.monitor("SIM:RAMP:0000", 1, maskValue)
		_, v := c.event()
		first, last, received := ramp(v, 0), ramp(v, 0), int64(1)
		for _, pause := range []time.Duration{0, 900 * time.Millisecond, 10 * time.Second, time.Minute, 0} {
			time.Sleep(pause)
			for range 20 {
				_, v := c.event()
				if tick := ramp(v, 0); tick <= last {
					t.Fatalf("tick %d after tick %d", tick, last)
				} else {
					last = tick
				}
				received++
			}
		}
		missed := last - first + 1 - received
		if got := int64(s.Circuits.Counts.Dropped()); missed < 580 || missed > 700 || got != missed {
			t.Errorf("the client missed %d updates, but %d are counted", missed, got)
		}
	})
}

func TestEventsOffHoldsUpdatesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, config{channels: 1, rate: 10})
		c.monitor("SIM:RAMP:0000", 1, maskValue)
		_, first := c.event()
		c.send(proto.AppendEcho(proto.AppendEventsOff(nil)))
		c.want(proto.CmdEcho)
		time.Sleep(5 * time.Second)
		c.send(proto.AppendEcho(nil))
		c.want(proto.CmdEcho) // and no event before it
		c.send(proto.AppendEventsOn(nil))
		_, v := c.event()
		missed := uint64(ramp(v, 0) - ramp(first, 0) - 1)
		if missed < 35 || missed > 45 || s.Circuits.Counts.Dropped() != missed {
			t.Errorf("the client missed %d updates, but %d are counted", missed, s.Circuits.Counts.Dropped())
		}
	})
}

func TestMasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pipe(t, config{channels: 1, rate: 10})
		sid, native := c.create("SIM:ALARM:0000", 1)
		for id, mask := range []uint16{maskAlarm, maskProperty, maskLog | maskAlarm} {
			c.send(proto.AppendEventAdd(nil, native.In(proto.TIME), 1, sid, uint32(id), mask))
			c.want(proto.CmdEventAdd)
		}
		seen := map[uint32]int{}
		var alarms []sample.Severity
		for seen[2] < 2*200 {
			id, v := c.event()
			seen[id]++
			if id == 0 {
				alarms = append(alarms, v.Tag.Severity())
			}
		}
		// The severity is MAJOR first, falls through MINOR to none, and rises again. This
		// happens twice.
		want := []sample.Severity{1, 0, 1, 2, 1, 0, 1, 2}
		if seen[1] != 0 || !slices.Equal(alarms, want) {
			t.Errorf("%d property events, alarms %v, want %v", seen[1], alarms, want)
		}
	})
}

// TestCancelRemovesOneSubscription checks that the other subscriptions continue without a gap.
func TestCancelRemovesOneSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, config{channels: 1, rate: 100})
		sid, native := c.create("SIM:RAMP:0000", 1)
		last := map[uint32]int64{}
		types := []proto.DBR{native.In(proto.TIME), proto.Long.In(proto.TIME), native.In(proto.TIME), proto.Float.In(proto.TIME)}
		for id, typ := range types {
			c.send(proto.AppendEventAdd(nil, typ, 1, sid, uint32(id), maskValue))
		}
		ended := false
		for n := range 400 {
			if n == 100 {
				c.send(proto.AppendEventCancel(nil, types[1], 1, sid, 1))
			}
			m := c.want(proto.CmdEventAdd)
			if len(m.payload) == 0 {
				ended = m.P2 == 1 && m.P1 == sid
				continue
			}
			var v sample.Sample
			if _, err := proto.DecodeTime(&v, types[m.P2], 1, false, m.payload, nil); err != nil {
				t.Fatal(err)
			}
			tick := int64(sample.Float(types[m.P2].SampleType(false), v.Word))
			if was, ok := last[m.P2]; ok && tick != was+1 || ended && m.P2 == 1 {
				t.Fatalf("event %d: subscription %d has tick %d after tick %d", n, m.P2, tick, was)
			}
			last[m.P2] = tick
		}
		if !ended || s.Circuits.Counts.Subscriptions() != 3 {
			t.Errorf("subscription ended %v, %d subscriptions remain", ended, s.Circuits.Counts.Subscriptions())
		}
	})
}

// TestArrays monitors all elements and some elements of an array. The array is so large that
// its messages need the extended header.
func TestArrays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const elements = 10_000
		c, s := pipe(t, config{channels: 1, rate: 10, elements: elements})
		sid, native := c.create("SIM:WAVE:0000", 1)
		typ, counts := native.In(proto.TIME), []uint32{0, 3, elements}
		for id, count := range counts {
			c.send(proto.AppendEventAdd(nil, typ, count, sid, uint32(id), maskValue))
		}
		last := map[uint32]int64{}
		for range 20 * len(counts) {
			m := c.want(proto.CmdEventAdd)
			var v sample.Sample
			if _, err := proto.DecodeTime(&v, typ, m.Count, true, m.payload, nil); err != nil {
				t.Fatal(err)
			}
			tick := (v.Time - s.Circuits.Schedule.Unix(0)) / int64(100*time.Millisecond)
			want := s.Set.Value(sim.PV{Kind: sim.Wave}, tick).Bytes
			if counts[m.P2] == 3 {
				want = want[:3*8]
			}
			if was, ok := last[m.P2]; !bytes.Equal(v.Bytes, want) || ok && tick != was+1 {
				t.Fatalf("subscription %d: %d elements of tick %d after tick %d", m.P2, m.Count, tick, was)
			}
			last[m.P2] = tick
		}
		c.send(proto.AppendEventAdd(nil, typ, elements+1, sid, 9, maskValue))
		for m := c.next(); m.Command != proto.CmdError; m = c.next() {
			continue
		}
	})
}

// TestPatchedFramesAreEncodedFrames compares all frames of a turn, which are patched in place,
// with frames that the codec encodes from the same values.
func TestPatchedFramesAreEncodedFrames(t *testing.T) {
	for form := proto.Plain; form <= proto.CTRL; form++ {
		s := offline(t, config{channels: 3})
		var out bytes.Buffer
		c := newSession(s, circuit.New(s.Circuits, &out))
		subscribed(t, s, c, form)
		at := int64(0)
		for range 1000 {
			_ = c.Flush()
			out.Reset()
			at = s.Circuits.Schedule.Now()
			if _, err := c.Circuit.Send(c, at); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Flush()
		for _, m := range frames(t, out.Bytes()) {
			k, index := sim.Kind((m.P2-1)/3), int((m.P2-1)%3)
			v := value(k, index, 1000)
			v.Time = s.Circuits.Schedule.Unix(at)
			want := proto.AppendEvent(nil, natives[k].In(form), k == sim.Wave, &v, s.Set.Metadata(k), m.P2)
			if got := append(proto.AppendHeader(nil, m.Header), m.payload...); !bytes.Equal(got, want) {
				t.Errorf("%v: got %x, want %x", natives[k].In(form), got, want)
			}
		}
	}
}

func TestNoAllocationPerEvent(t *testing.T) {
	for form := proto.Plain; form <= proto.CTRL; form++ {
		s := offline(t, config{channels: 100})
		c := newSession(s, circuit.New(s.Circuits, io.Discard))
		subscribed(t, s, c, form)
		if n := testing.AllocsPerRun(10, func() { _, _ = c.Circuit.Send(c, s.Circuits.Schedule.Now()) }); n > 0 {
			t.Errorf("form %d: %v allocations in a turn of 800 events", form, n)
		}
	}
}
