// Package loglimit thins out a log. Of warnings and errors with the same message it
// lets one through at a time, so that an outage that many shards or PVs complain
// about takes a line now and then:
//
//	slog.Logger ──▶ Handler ── first of its message in a period ──▶ next handler
//	                   └────── the others: counted, told with the next one
package loglimit

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Handler is a slog.Handler before another one.
type Handler struct {
	next  slog.Handler
	state *state
}

// state is shared by the handlers that WithAttrs and WithGroup derive. It holds
// an entry per message; messages are constants.
type state struct {
	every time.Duration

	mu   sync.Mutex
	last map[string]*told
}

type told struct {
	at     time.Time
	hushed int
}

// New returns a handler that passes a warning or error on to next if none with
// the same message was passed on within a period.
func New(next slog.Handler, every time.Duration) *Handler {
	return &Handler{next: next, state: &state{every: every, last: map[string]*told{}}}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements slog.Handler. A record that follows hushed ones has their
// number as the attribute "repeated".
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.next.Handle(ctx, r)
	}
	hushed, ok := h.state.admit(r.Message, r.Time)
	if !ok {
		return nil
	}
	if hushed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", hushed))
	}
	return h.next.Handle(ctx, r)
}

func (s *state) admit(message string, now time.Time) (hushed int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.last[message]
	if t != nil && now.Sub(t.at) < s.every {
		t.hushed++
		return 0, false
	}
	if t != nil {
		hushed = t.hushed
	}
	s.last[message] = &told{at: now}
	return hushed, true
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{next: h.next.WithAttrs(attrs), state: h.state}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), state: h.state}
}
