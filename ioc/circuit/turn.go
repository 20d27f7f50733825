package circuit

import (
	"time"

	"varve.dev/varve/ioc/sim"
)

// These are the waits of a circuit without a clock: emptyTurn after a turn that sent nothing,
// and setupRest while a client still creates channels and subscriptions. Without setupRest,
// each new channel would wait for a turn of all earlier ones, and a large setup would take
// long.
const (
	emptyTurn = time.Millisecond
	setupRest = 20 * time.Millisecond
)

// Update sends the updates of the next turn if it is due, and returns the time until the
// following turn.
func (c *Circuit) Update(s Speaker) (time.Duration, error) {
	if c.subscriptions == 0 || !s.Ready() {
		return NoTurn, nil
	}
	sched := c.cfg.Schedule
	now := sched.Now()
	if sched.Flat() {
		return c.updateFlat(s, now)
	}
	c.drop(s, now-int64(c.cfg.MaxLag))
	at := sched.Due(c.turn)
	if at > now {
		return time.Duration(at - now), nil
	}
	_, err := c.Send(s, at)
	return 0, err
}

// updateFlat sends the next turn at once, unless the client is busy with its setup.
func (c *Circuit) updateFlat(s Speaker, now int64) (time.Duration, error) {
	if rest := c.setup + int64(setupRest) - now; rest > 0 {
		return time.Duration(rest), nil
	}
	sent, err := c.Send(s, max(now, c.last+1)) // times increase even if the clock is coarse
	if err != nil || sent > 0 {
		return 0, err
	}
	return emptyTurn, nil
}

// Send sends the next turn, with a time of the schedule.
func (c *Circuit) Send(s Speaker, at int64) (sent int, err error) {
	if sent, err = s.Send(c.turn, at); err != nil {
		return sent, err
	}
	c.turn, c.last = c.turn+1, at
	c.cfg.Counts.sent.Add(uint64(sent))
	return sent, nil
}

// drop skips the turns that were due before a time, and counts their updates as dropped.
func (c *Circuit) drop(s Speaker, before int64) {
	dropped := 0
	for ; c.cfg.Schedule.Due(c.turn) < before; c.turn++ {
		dropped += s.Pass(c.turn)
	}
	c.Dropped(dropped)
}

// Dropped counts updates that the client loses.
func (c *Circuit) Dropped(n int) {
	if n > 0 {
		c.cfg.Counts.dropped.Add(uint64(n))
	}
}

// Sent counts updates that a Speaker sent outside a turn.
func (c *Circuit) Sent(n int) { c.cfg.Counts.sent.Add(uint64(n)) }

// Busy records that the client is creating channels or subscriptions.
func (c *Circuit) Busy() { c.setup = c.cfg.Schedule.Now() }

// Subscribed adds n to the number of the client's subscriptions.
func (c *Circuit) Subscribed(n int) {
	if c.subscriptions == 0 {
		c.catchUp()
	}
	c.subscriptions += n
	c.cfg.Counts.subscriptions.Add(int64(n))
}

// catchUp skips to the first turn that is not yet due. Only a circuit without subscriptions
// may do this, because no client misses the skipped turns.
func (c *Circuit) catchUp() {
	if sched := c.cfg.Schedule; !sched.Flat() {
		c.turn = sched.Next(sched.Now())
	}
}

// Latest returns the tick of a PV's last update before the next turn, and the time
// of that update in nanoseconds since 1970.
func (c *Circuit) Latest(p sim.PV) (tick, unixNanos int64) { return c.before(c.turn, p) }

// Current returns the result that Latest would return if the circuit did not lag.
func (c *Circuit) Current(p sim.PV) (tick, unixNanos int64) {
	turn := c.turn
	if sched := c.cfg.Schedule; !sched.Flat() {
		turn = sched.Next(sched.Now())
	}
	return c.before(turn, p)
}

func (c *Circuit) before(turn int64, p sim.PV) (tick, unixNanos int64) {
	sched := c.cfg.Schedule
	n, slices := sched.Slice(p), sched.Slices()
	tick = (turn - 1 - n) / slices
	if sched.Flat() {
		return tick, sched.Unix(c.last)
	}
	return tick, sched.Unix(sched.Due(tick*slices + n))
}
