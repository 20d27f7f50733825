package ioc

import (
	"bytes"
	"testing"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

// offline returns a server without sockets, whose clock starts now.
func offline(t testing.TB, cfg Config) *Server {
	t.Helper()
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		t.Fatal(err)
	}
	n, err := newNames(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &Server{cfg: cfg, names: n, sched: newSchedule(time.Now(), cfg.Rate)}
}

// subscribed returns a circuit that has subscribed to all PVs of a server.
func subscribed(t testing.TB, s *Server, c *circuit, form proto.DBR) {
	t.Helper()
	var id uint32
	for name := range s.names.all() {
		id++
		kind, _, _ := s.names.find([]byte(name))
		req := proto.AppendCreateChan(nil, name, id)
		req = proto.AppendEventAdd(req, traits[kind].native.In(form), 1, id, id, maskValue)
		if n, err := c.handle(req); n != len(req) || err != nil {
			t.Fatalf("subscribing %s: %d of %d bytes, %v", name, n, len(req), err)
		}
	}
}

// frames splits bytes that a server sent.
func frames(t testing.TB, b []byte) []message {
	t.Helper()
	var out []message
	for len(b) > 0 {
		var m message
		payload, n, err := proto.ReadFrame(b, &m.Header, 1<<20)
		if err != nil {
			t.Fatalf("frame %d: %v", len(out), err)
		}
		m.payload = bytes.Clone(payload)
		out, b = append(out, m), b[n:]
	}
	return out
}
