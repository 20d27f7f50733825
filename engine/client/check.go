package client

import (
	"net/netip"
	"sync"
	"time"

	"varve.dev/varve/engine/sample"
)

const (
	// CheckTick is the time between two calls of Checks.Tick.
	CheckTick = time.Second
	// maxChecks is the maximum number of checks per second of all circuits of a client. If more
	// channels are quiet, each is checked less often.
	maxChecks = 500
	// checkTimeout is the maximum time that a server may take to answer a check.
	checkTimeout = time.Minute
)

// CheckState is the state of the check of a channel's subscription:
//
//	       ┌──────── the value is the same ─────────┐
//	       ▼                                        │
//	   CheckNone ── quiet for CheckEvery ─────▶ CheckAsked ── no answer ─▶ the channel is lost
//	       ▲                                        │
//	update │                                        │ the value differs: subscribe again
//	       └── CheckRevived ◀──── first update ─ CheckRenewed
//
// An update in the state CheckAsked shows that the subscription is alive, and ends the check.
type CheckState uint8

// The states of a check.
const (
	CheckNone    CheckState = iota
	CheckAsked              // the value was requested
	CheckRenewed            // subscribed again; the first update is the current value
	CheckRevived            // the next update shows that the new subscription is alive
)

// CheckResult is the result of a check.
type CheckResult uint8

// The results of checks. CheckChanged may be followed by CheckHealed.
const (
	CheckSame       CheckResult = iota // the value has not changed
	CheckChanged                       // the value has changed without an update
	CheckHealed                        // updates arrive since the client subscribed again
	CheckFailed                        // the server cannot read the value
	CheckUnanswered                    // the server has not answered

	numCheckResults
)

var checkResults = [numCheckResults]string{"same", "changed", "healed", "failed", "unanswered"}

// Checks decides when the circuit checks which of its channels, and what follows from the values. It
// visits the slots of the circuit in turn, all of them in the time Config.CheckEvery, so that the
// checks are spread evenly. The circuit's lock guards it. The circuit keeps the CheckState of each
// channel, and sends and receives the messages.
type Checks struct {
	kernel *Kernel
	server netip.AddrPort
	began  time.Time
	last   time.Time
	owed   float64 // slots to visit
	next   int
	asked  []askedSlot // in order of time
	polls  checkBudget
}

type askedSlot struct {
	slot uint32
	at   time.Time
}

// NewChecks returns the Checks of a circuit, which begins now.
func (k *Kernel) NewChecks(l *Link) Checks {
	now := time.Now()
	return Checks{kernel: k, server: l.Server, began: now, last: now}
}

// Second converts a time to seconds since the start of the circuit, in which the circuit notes the
// latest update of each channel. It never returns 0, which stands for no update.
func (c *Checks) Second(t time.Time) uint32 { return uint32(max(t.Sub(c.began), 0)/time.Second) + 1 }

// IsDue reports whether a connected channel must be checked: it has had no update since a time, and is
// not being checked. seen is the second of its latest update.
func (c *Checks) IsDue(state CheckState, ch *Channel, seen uint32, since time.Time) bool {
	return state != CheckAsked && seen < c.Second(since) && !ch.Since.After(since)
}

// Answered handles the value that a check has read. The second of the latest update is seen. If the
// value differs from the channel's last sample although no update has arrived, the subscription may be
// dead. Answered then returns true, and the circuit subscribes again.
func (c *Checks) Answered(state *CheckState, ch *Channel, seen uint32, s *sample.Sample) (changed bool) {
	*state = CheckNone
	since := ch.Since
	if seen > 0 {
		since = c.began.Add(time.Duration(seen-1) * time.Second)
	}
	if !ch.Sink.Checked(s, since) {
		c.count(CheckSame)
		return false
	}
	c.count(CheckChanged)
	c.kernel.warnings.Warn("a value has changed without an update; subscribing again", "pv", ch.Name(), "server", c.server, "last_update", since)
	*state = CheckRenewed
	return true
}

// Failed handles the answer that the value cannot be read.
func (c *Checks) Failed(state *CheckState) {
	*state = CheckNone
	c.count(CheckFailed)
}

// Updated records that an update arrived. It need not be called in the state CheckNone.
func (c *Checks) Updated(state *CheckState) {
	switch *state {
	case CheckRenewed:
		*state = CheckRevived
		return
	case CheckRevived:
		c.count(CheckHealed)
	}
	*state = CheckNone
}

// CheckTicks returns a channel that ticks when Tick is due, and a function that stops it.
func (k *Kernel) CheckTicks() (ticks <-chan time.Time, stop func()) {
	t := time.NewTicker(CheckTick)
	return t.C, t.Stop
}

// Tick visits slots. ask checks a slot if its channel has been quiet since a time, and reports
// whether it did. late is called some time after each check, with the time of the check. If there is no answer
// to that check yet, it gives the channel up, and returns true. Without Config.CheckEvery, only values that sinks
// requested are checked.
func (c *Checks) Tick(slots int, now time.Time, ask func(slot uint32, since time.Time) bool, late func(slot uint32, at time.Time) bool) {
	every, timeout := c.kernel.config.CheckEvery, checkTimeout
	if every != 0 {
		timeout = min(timeout, every/2)
	}
	for len(c.asked) > 0 && now.Sub(c.asked[0].at) >= timeout {
		if late(c.asked[0].slot, c.asked[0].at) {
			c.count(CheckUnanswered)
		}
		c.asked = c.asked[1:]
	}
	if every == 0 {
		return
	}
	c.owed = min(c.owed+float64(slots)*float64(now.Sub(c.last))/float64(every), float64(slots))
	c.last = now
	for ; c.owed >= 1 && c.kernel.checks.available(now, maxChecks); c.owed-- {
		slot := uint32(c.next % slots)
		c.next = int(slot) + 1
		if ask(slot, now.Add(-every)) {
			c.kernel.checks.use()
			c.asked = append(c.asked, askedSlot{slot, now})
		}
	}
}

// count counts the result of a check.
func (c *Checks) count(r CheckResult) { c.kernel.metrics.checks[r].Inc() }

// checkBudget bounds the checks, or other requests, per second.
type checkBudget struct {
	mu     sync.Mutex
	second int64
	used   int
}

// available reports whether fewer than a number of requests were made in the second of a time.
func (b *checkBudget) available(now time.Time, limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if second := now.Unix(); second != b.second {
		b.second, b.used = second, 0
	}
	return b.used < limit
}

func (b *checkBudget) use() {
	b.mu.Lock()
	b.used++
	b.mu.Unlock()
}
