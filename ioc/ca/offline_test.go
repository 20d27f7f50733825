package ca

import (
	"bytes"
	"cmp"
	"net/netip"
	"testing"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/circuit"
	"varve.dev/varve/ioc/sim"
)

// config is the configuration of a test server.
type config struct {
	channels int
	rate     float64
	kinds    []sim.Kind // all kinds if empty
	maxLag   time.Duration
	elements int // waveElements if 0
}

// waveElements is the length of arrays.
const waveElements = 10

// offline returns a server without sockets. Its clock starts now.
func offline(t testing.TB, cfg config) *Server {
	t.Helper()
	if cfg.kinds == nil {
		cfg.kinds = sim.Kinds()
	}
	return &Server{
		Set:  sim.NewSet("SIM", cfg.kinds, cfg.channels, cmp.Or(cfg.elements, waveElements)),
		Addr: netip.MustParseAddrPort("127.0.0.1:5064"),
		Circuits: circuit.Config{
			Schedule: sim.NewSchedule(time.Now(), cfg.rate), Counts: &circuit.Counts{}, MaxLag: max(cfg.maxLag, time.Second),
		},
	}
}

// value returns the value of PV index of a kind at a tick.
func value(k sim.Kind, index int, tick int64) sample.Sample {
	return sim.NewSet("SIM", sim.Kinds(), 1, waveElements).Value(sim.PV{Kind: k, Index: int32(index)}, tick)
}

// subscribed returns a session that has subscribed to all PVs of a server.
func subscribed(t testing.TB, s *Server, c *session, form proto.DBR) {
	t.Helper()
	var id uint32
	for name := range s.Set.Names() {
		id++
		pv, _ := s.Set.Find([]byte(name))
		req := proto.AppendCreateChan(nil, name, id)
		req = proto.AppendEventAdd(req, natives[pv.Kind].In(form), 0, id, id, maskValue)
		if n, err := c.Handle(req); n != len(req) || err != nil {
			t.Fatalf("subscribing to %s: the session handled %d of %d bytes, %v", name, n, len(req), err)
		}
	}
}

// frames splits bytes that a server sent into messages.
func frames(t testing.TB, b []byte) []message {
	t.Helper()
	var out []message
	for len(b) > 0 {
		var m message
		payload, n, err := proto.ReadFrame(b, &m.Header, 1<<20)
		if err != nil {
			t.Fatalf("reading frame %d: %v", len(out), err)
		}
		m.payload = bytes.Clone(payload)
		out, b = append(out, m), b[n:]
	}
	return out
}
