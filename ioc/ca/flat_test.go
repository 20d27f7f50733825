package ca

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
)

// TestFlatOutNothingIsLost reads from two circuits of one server at full speed.
func TestFlatOutNothingIsLost(t *testing.T) {
	s := offline(t, config{channels: 50})
	for _, updates := range []int{2000, 4000} {
		t.Run(fmt.Sprint(updates), func(t *testing.T) {
			t.Parallel()
			c := dial(t, s)
			var req []byte
			for id := range uint32(50) {
				req = proto.AppendCreateChan(req, fmt.Sprintf("SIM:RAMP:%04d", id), id)
				req = proto.AppendEventAdd(req, proto.Double.In(proto.TIME), 1, id+1, id, maskValue)
			}
			c.send(req)
			var last [50]sample.Sample
			for n := 0; n < updates*50; {
				m := c.next()
				if m.Command != proto.CmdEventAdd {
					continue // the answer to a request
				}
				n++
				was, v := last[m.P2], sample.Sample{}
				if _, err := proto.DecodeTime(&v, proto.Double.In(proto.TIME), 1, false, m.payload, nil); err != nil {
					t.Fatal(err)
				}
				if was.Time != 0 && (ramp(v, 0) != ramp(was, 0)+1 || v.Time <= was.Time) {
					t.Fatalf("PV %d: tick %v at %d after tick %v at %d", m.P2, ramp(v, 0), v.Time, ramp(was, 0), was.Time)
				}
				last[m.P2] = v
			}
		})
	}
}

// TestFlatOutWithNothingToSendWaits checks that a circuit answers requests if it has only
// alarm subscriptions and no alarm changes.
func TestFlatOutWithNothingToSendWaits(t *testing.T) {
	c := dial(t, offline(t, config{channels: 1}))
	c.monitor("SIM:LONG:0000", 1, maskAlarm)
	c.want(proto.CmdEventAdd)
	for range 10 {
		c.send(proto.AppendEcho(nil))
		c.want(proto.CmdEcho)
	}
}

// setupRest is the time for which a server waits for more requests while a client creates
// channels.
const setupRest = 20 * time.Millisecond

// TestFlatOutWaitsForTheSetup checks that the server does not flood a client with updates
// while the client creates many channels.
func TestFlatOutWaitsForTheSetup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pipe(t, config{channels: 10})
		for id := range uint32(10) {
			c.monitor(fmt.Sprintf("SIM:RAMP:%04d", id), id, maskValue)
			if sub, v := c.event(); sub != id || ramp(v, int(id)) != 0 {
				t.Fatalf("first event is of subscription %d at tick %d, want tick 0 of subscription %d", sub, ramp(v, int(id)), id)
			}
			time.Sleep(setupRest / 2)
		}
		began := time.Now()
		if _, v := c.event(); ramp(v, 0) != 1 || time.Since(began) != setupRest/2 {
			t.Errorf("got tick %d after %v", ramp(v, 0), time.Since(began))
		}
	})
}
