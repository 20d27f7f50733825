package handover

import (
	"context"
	"time"

	"varve.dev/varve/engine/clock"
)

const (
	// aheadLimit is how far the time of a sample may be ahead of its arrival.
	aheadLimit = 45 * time.Second
	// retention is how long samples are kept: longer than a run. By the true time none expires.
	retention = convergeFor + chaosFor + healFor + quietFor + 100*time.Second
)

// setClock gives an engine its clock. Some clocks are far off unless all are right. The real
// package clock compares it with the clock of the store, whenever the engine reads claims.
func (e *engine) setClock() {
	if far := e.w.errors.Float64(); !e.w.exact && far < 0.3 {
		e.offset += time.Duration((10*far - 0.9) * float64(1000*time.Second)) // -900 s to 2100 s
	}
	e.verdict = clock.New(clock.Config{Read: func() (int64, time.Duration) { return wall(e.clock()), e.elapsed() }})
	e.verdict.Use(unasked{})
}

// wall returns a time of the simulation in ns since 1970.
func wall(t time.Duration) int64 { return epoch.Add(t).UnixNano() }

// unasked is a store whose clock is not asked for: engines learn it from other answers.
type unasked struct{}

func (unasked) Clocks(context.Context, func() time.Duration) ([]clock.Reading, error) {
	return nil, nil
}
func (unasked) Now() int64 { return 0 }

// compareClock notes what the clock of the store showed at some time since the engine asked.
func (e *engine) compareClock(shown, asked time.Duration) {
	half := (e.elapsed() - asked) / 2
	e.verdict.Note(clock.Servers, clock.Reading{Source: "store", Time: wall(shown), At: asked + half, Within: half})
	e.verdict.Judge()
}

// earliest and latest return the bounds of the present time for marks. With ClockMarks, marks have the times of the
// engine's clock.
func (e *engine) earliest() time.Duration {
	if e.w.cfg.Fault == ClockMarks {
		return e.clock()
	}
	return time.Duration(e.verdict.Now().Begin - wall(0))
}

func (e *engine) latest() time.Duration {
	if e.w.cfg.Fault == ClockMarks {
		return e.clock()
	}
	return time.Duration(e.verdict.Now().End - wall(0))
}

// restamp replaces the time of a sample that is too far ahead of its arrival.
func (e *engine) restamp(s *sample) {
	at := e.verdict.Now()
	if e.w.cfg.Fault == ClockRestamp {
		at = clock.At(wall(e.clock()))
	}
	if time.Duration(wall(e.w.zero()+s.at)-at.To) > aheadLimit {
		s.at = time.Duration(at.Now - wall(e.w.zero()))
	}
}

// keep returns the samples that have not expired, as far as the sealer's engine knows.
func (e *engine) keep(samples []sample) (kept []sample) {
	now := e.verdict.Earliest()
	if e.w.cfg.Fault == ClockExpiry {
		now = wall(e.clock())
	}
	for _, s := range samples {
		if wall(e.w.zero()+s.at+retention) > now {
			kept = append(kept, s)
		}
	}
	return kept
}

// ttl returns how long the store keeps a block whose first sample has the given time.
func (e *engine) ttl(first time.Duration) time.Duration {
	now := e.verdict.Earliest()
	if e.w.cfg.Fault == ClockTTL {
		now = wall(e.clock())
	}
	return time.Duration(wall(e.w.zero()+first+retention) - now)
}
