// Package loglimit limits the rate of log records. It passes on one warning or error
// with the same message per period, so that an outage that affects many shards or PVs
// adds one line per period to the log:
//
//	slog.Logger ──▶ Handler ── first of its message in a period ──▶ next handler
//	                   └────── the others: counted; the next record has their number
package loglimit

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Handler is a slog.Handler that limits the rate of the records it passes on to another
// one.
type Handler struct {
	next  slog.Handler
	state *state
}

// state is shared with the handlers that WithAttrs and WithGroup return. It holds an
// entry per message. Messages are constants, so the map stays small.
type state struct {
	every time.Duration

	mu   sync.Mutex
	last map[string]*entry
}

// entry is the latest record of a message that was passed on.
type entry struct {
	at         time.Time
	suppressed int
}

// New returns a handler that passes a warning or error on to next unless it has passed on
// one with the same message during the last period. It passes on all other records.
func New(next slog.Handler, every time.Duration) *Handler {
	return &Handler{next: next, state: &state{every: every, last: map[string]*entry{}}}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements slog.Handler. It adds the number of suppressed records to the next
// one with the same message, as the attribute "repeated".
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.next.Handle(ctx, r)
	}
	suppressed, ok := h.state.admit(r.Message, r.Time)
	if !ok {
		return nil
	}
	if suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", suppressed))
	}
	return h.next.Handle(ctx, r)
}

// admit reports whether a record may pass, and how many before it were suppressed.
func (s *state) admit(message string, now time.Time) (suppressed int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.last[message]
	if t != nil && now.Sub(t.at) < s.every {
		t.suppressed++
		return 0, false
	}
	if t != nil {
		suppressed = t.suppressed
	}
	s.last[message] = &entry{at: now}
	return suppressed, true
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{next: h.next.WithAttrs(attrs), state: h.state}
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), state: h.state}
}
