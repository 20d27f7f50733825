package ioc

import (
	"fmt"
	"time"

	"varve.dev/varve/engine/sample"
)

// How long a circuit without a clock rests: when a turn sent nothing, and while a
// client goes on to create channels and subscriptions. It would take it long to
// create many if each came after a turn of those before.
const (
	emptyTurn = time.Millisecond
	setupRest = 20 * time.Millisecond
)

// update sends the updates of the next turn if it is due, and returns how long
// to wait for the one after; noTurn if only a request can bring one.
func (c *circuit) update() (time.Duration, error) {
	if c.paused || len(c.places) == 0 {
		return noTurn, nil
	}
	now := c.sched.now()
	if c.sched.flat() {
		return c.updateFlat(now)
	}
	c.drop(now - int64(c.lag))
	if wait := c.sched.due(c.turn) - now; wait > 0 {
		return time.Duration(wait), nil
	}
	_, err := c.send(c.sched.due(c.turn))
	return 0, err
}

// updateFlat sends the next turn at once, unless the client is busy with its setup.
func (c *circuit) updateFlat(now int64) (time.Duration, error) {
	if rest := c.setup + int64(setupRest) - now; rest > 0 {
		return time.Duration(rest), nil
	}
	sent, err := c.send(max(now, c.last+1)) // times rise though the clock be coarse
	if err != nil || sent > 0 {
		return 0, err
	}
	return emptyTurn, nil
}

// drop passes over the turns that were due before a time, and counts their
// updates.
func (c *circuit) drop(before int64) {
	var dropped uint64
	for c.sched.due(c.turn) < before {
		every := &c.slices[c.turn%c.sched.slices].every
		dropped += uint64(len(every.subs) - every.dead)
		c.turn++
	}
	if dropped > 0 {
		c.stats.dropped.Add(dropped)
	}
}

// catchUp makes the next turn one that is not yet due. Only a circuit without
// subscriptions may: nobody misses the turns between.
func (c *circuit) catchUp() {
	if !c.sched.flat() {
		c.turn = c.sched.next(c.sched.now())
	}
}

// send sends the next turn with a time, and returns the number of updates.
func (c *circuit) send(t int64) (sent int, err error) {
	n := c.turn % c.sched.slices
	tick, at := c.turn/c.sched.slices, makeStamp(c.sched.unix(t))
	s := &c.slices[n]
	s.every.compact(c.moved)
	s.alarms.compact(c.moved)
	if err := c.sendEvery(&s.every, tick, at); err != nil {
		return 0, err
	}
	changed, err := c.sendAlarms(&s.alarms, tick, at)
	if err != nil {
		return 0, err
	}
	c.turn, c.last = c.turn+1, t
	sent = len(s.every.subs) + changed
	c.stats.sent.Add(uint64(sent))
	return sent, nil
}

// moved notes the new position of a subscription in its group.
func (c *circuit) moved(id uint32, pos int) {
	p := c.places[id]
	p.pos = int32(pos)
	c.places[id] = p
}

// sendEvery patches the frames of a group and writes them, piece by piece while
// they are in the processor's cache.
func (c *circuit) sendEvery(g *group, tick int64, at stamp) error {
	from := 0
	for i := range g.subs {
		s := &g.subs[i]
		c.enc.patch(g.frames[s.at:], s, tick, at)
		if piece := g.frames[from:s.at]; len(piece) >= writeSize {
			if err := c.write(piece); err != nil {
				return err
			}
			from = int(s.at)
		}
	}
	return c.write(g.frames[from:])
}

// sendAlarms writes the frames of those subscriptions of a group whose alarm is
// not the one last sent.
func (c *circuit) sendAlarms(g *group, tick int64, at stamp) (sent int, err error) {
	for i := range g.subs {
		s := &g.subs[i]
		tag := alarmOf(s.pv, tick)
		if !s.alarm || tag.SameAlarm(s.tag) {
			continue
		}
		frame := g.frames[s.at:][:s.size()]
		c.enc.patch(frame, s, tick, at)
		s.tag = tag
		if err := c.write(frame); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

func alarmOf(p pv, tick int64) sample.Tag {
	if p.kind == String {
		return 0
	}
	_, tag := number(p.kind, int(p.index), tick)
	return tag
}

func (c *circuit) write(b []byte) error {
	if _, err := c.out.Write(b); err != nil {
		return fmt.Errorf("writing to a client: %w", err)
	}
	return nil
}
