package clock

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config configures a Clock. Every field may be left out.
type Config struct {
	// Read returns the clock of the machine, in ns since 1970, and a monotonic clock. The default is
	// time.Now.
	Read func() (wall int64, monotonic time.Duration)
	// Boot returns the time since boot, including the time in which the machine was suspended:
	// SinceBoot in a program. The default is the monotonic clock of Read.
	Boot func() time.Duration
	Log  *slog.Logger
}

// Store is a store whose servers have clocks.
type Store interface {
	// Clocks asks the servers for their clocks. The readings are anchored on the given clock since
	// boot.
	Clocks(ctx context.Context, boot func() time.Duration) ([]Reading, error)
	// Now returns the time by the clocks of the servers, in ns since 1970, as far as it is known.
	// All processes use it to order their writes.
	Now() int64
}

const (
	// limit is the difference between two clocks from which one of them is wrong.
	limit = 10 * time.Second
	// stepped is a change of the clock against the monotonic clock that makes Now judge again.
	stepped = 250 * time.Millisecond
	// askEvery is the interval between two questions to the servers of the store, and askFor is how
	// long they may take.
	askEvery = time.Minute
	askFor   = 5 * time.Second
	// judgeEvery is the interval between two judgements, and hurryEvery until the servers of the store have
	// told their time once.
	judgeEvery = 15 * time.Second
	hurryEvery = time.Second
	// repeatEvery is the interval between two warnings about the same judgement.
	repeatEvery = 10 * time.Minute
)

// Clock is the clock of this machine with a verdict about it. All methods may be called from any
// goroutine.
type Clock struct {
	cfg    Config
	state  atomic.Pointer[state]
	store  atomic.Pointer[Store]
	offset prometheus.Gauge
	wrong  prometheus.Gauge

	mu       sync.Mutex // guards the fields below
	kinds    [Servers + 1]readings
	answered bool   // the servers of the store have told their time
	earlier  int64  // the clock when the clock since boot stood at 0, without later steps
	last     int64  // the same at the latest judgement, with steps
	logged   logged // by the latest log entry
	loggedAt time.Duration
}

// state is a verdict, and the clock minus the monotonic clock when it was given.
type state struct {
	Verdict
	base int64
}

// Instant is a moment by a clock that may be wrong, in ns since 1970.
type Instant struct {
	// Now is the time, as far as it is known. From and To bound it.
	Now, From, To int64
	// Begin and End bound the time for marks, which are compared with the times of samples. A mark begins at the
	// Begin of one instant and ends at the End of another one, so that it covers what happened in between
	// although the clock may be wrong. They are closer together than From and To: they enclose only the clock
	// and the evidence that counts. Without evidence, both are the time of the clock.
	Begin, End int64
	// Monotonic is the monotonic clock.
	Monotonic time.Duration
	// Guess means that there is not enough evidence to say whether the clock is right.
	Guess bool
}

// At returns the instant of a clock that is right.
func At(t int64) Instant { return Instant{Now: t, From: t, To: t, Begin: t, End: t} }

// Ago returns the instant that was d before at, by what is known now.
func (at Instant) Ago(d time.Duration) Instant {
	n := int64(d)
	return Instant{
		Now: at.Now - n, From: at.From - n, To: at.To - n, Begin: at.Begin - n, End: at.End - n, Monotonic: at.Monotonic - d, Guess: at.Guess,
	}
}

// Moment returns the instant at which time.Now returned t. It counts the time since then with the monotonic
// clock, so steps of the clock in between change nothing but Begin. now returns the present instant.
func Moment(now func() Instant, t time.Time) Instant {
	least := time.Since(t)
	at := now()
	present := time.Now()
	m := at.Ago(least)
	// The monotonic clock leaves out the time in which the machine was suspended. The wall clock does not, but
	// it may have been stepped. So Begin is the earlier of the times by the two clocks.
	m.Begin = at.Begin - max(int64(present.Sub(t)), present.UnixNano()-t.UnixNano())
	return m
}

// New returns a clock without evidence.
func New(cfg Config) *Clock {
	if cfg.Read == nil {
		began := time.Now()
		cfg.Read = func() (int64, time.Duration) {
			t := time.Now()
			return t.UnixNano(), t.Sub(began)
		}
	}
	if cfg.Boot == nil {
		cfg.Boot = func() time.Duration { _, m := cfg.Read(); return m }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &Clock{cfg: cfg, offset: newOffset(), wrong: newWrong()}
	for k := range c.kinds {
		c.kinds[k] = readings{}
	}
	wall, _, boot := c.read()
	c.earlier, c.last = wall-int64(boot), wall-int64(boot)
	c.Judge()
	return c
}

// Use makes the clock compare itself with the servers of a store. Until they have answered once, or
// other evidence decides, the filter treats no time of an IOC as wrong.
func (c *Clock) Use(st Store) {
	c.store.Store(&st)
	c.Judge()
}

// read returns all three clocks at about the same moment.
func (c *Clock) read() (wall int64, monotonic, boot time.Duration) {
	wall, monotonic = c.cfg.Read()
	return wall, monotonic, c.cfg.Boot()
}

// now returns the clock, the monotonic clock and the verdict. It judges again after a step.
func (c *Clock) now() (wall int64, monotonic time.Duration, s *state) {
	wall, monotonic = c.cfg.Read()
	s = c.state.Load()
	if d := wall - int64(monotonic) - s.base; d > int64(stepped) || d < -int64(stepped) {
		c.Judge()
		s = c.state.Load()
	}
	return wall, monotonic, s
}

// Now returns the present instant. It is cheap enough to be called for each sample.
func (c *Clock) Now() Instant {
	wall, monotonic, s := c.now()
	return Instant{
		Now: wall + int64(s.Offset), From: wall + int64(s.From), To: wall + int64(s.To),
		Begin: wall + int64(s.Begin), End: wall + int64(s.End), Monotonic: monotonic, Guess: s.Judgement == Unknown,
	}
}

// Earliest returns the earliest time that it may be now, in ns since 1970. It is never later than
// the clock.
func (c *Clock) Earliest() int64 {
	wall, _, s := c.now()
	return wall + int64(s.Least)
}

// StoreTime returns the time by the clocks of the store, in ns since 1970, with which all engines
// order their writes.
func (c *Clock) StoreTime() int64 {
	if st := c.store.Load(); st != nil {
		return (*st).Now()
	}
	wall, _ := c.cfg.Read()
	return wall
}

// Epoch returns the time at which the clock since boot stood at 0, in ns since 1970, as far as it is known.
// known is false if there is not enough evidence to say whether the clock is right.
func (c *Clock) Epoch() (at int64, known bool) {
	boot := c.cfg.Boot()
	wall, _, s := c.now()
	return wall + int64(s.Offset) - int64(boot), s.Judgement != Unknown
}

// Verdict returns the present verdict.
func (c *Clock) Verdict() Verdict {
	_, _, s := c.now()
	return s.Verdict
}

// Boot returns the time since boot.
func (c *Clock) Boot() time.Duration { return c.cfg.Boot() }

// Note adds evidence: what other clocks showed.
func (c *Clock) Note(k Kind, all ...Reading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds[k].put(c.cfg.Boot(), all...)
	c.answered = c.answered || k == Servers
}

// Answered reports whether the servers of the store have told their time, or there are none.
func (c *Clock) Answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered || c.store.Load() == nil
}

// Heard is the time of a sample from an IOC, and the monotonic time of its arrival.
type Heard struct {
	Server    string
	Time      int64 // ns since 1970
	Monotonic time.Duration
}

// transit bounds the difference between the time of a sample and its arrival.
const transit = time.Second

// NoteSamples adds evidence: the times of samples of IOCs.
func (c *Clock) NoteSamples(all []Heard) {
	_, monotonic := c.cfg.Read()
	suspended := c.cfg.Boot() - monotonic
	byServer := map[string][]Reading{}
	for _, h := range all {
		if h.Time > tooOld && h.Server != "" {
			byServer[h.Server] = append(byServer[h.Server], Reading{h.Server, h.Time, h.Monotonic + suspended, transit})
		}
	}
	var middles []Reading
	for _, of := range byServer {
		middles = append(middles, middle(of))
	}
	c.Note(IOCs, middles...)
	c.Judge()
}

// Judge gives a new verdict, from the evidence that is there.
func (c *Clock) Judge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, monotonic, boot := c.read()
	if d := wall - int64(boot) - c.last; d < int64(stepped) && d > -int64(stepped) {
		c.earlier += d // the clock is slewed
	}
	c.last = wall - int64(boot)
	was := Unknown
	if s := c.state.Load(); s != nil {
		was = s.Judgement
	}
	opinions := []Opinion{{Kind: Earlier, Offset: since(c.earlier, c.last), Sources: 1}}
	for k := Peers; k <= Servers; k++ {
		if o, ok := c.kinds[k].opinion(k, wall, boot); ok {
			opinions = append(opinions, o)
		}
	}
	v := Judge(opinions, limit, was)
	if v.Judgement == Right {
		c.earlier = c.last
	}
	c.show(&v, boot)
	if v.Judgement == Unknown && !c.answered && c.store.Load() != nil {
		v.allowAll()
	}
	c.state.Store(&state{v, wall - int64(monotonic)})
}

// Run asks the servers of the store for their clocks, and judges, until ctx ends.
func (c *Clock) Run(ctx context.Context) {
	tick := time.NewTicker(hurryEvery)
	defer tick.Stop()
	for asked := time.Duration(-1); ; {
		if now := c.cfg.Boot(); asked < 0 || now-asked >= askEvery {
			if c.Ask(ctx) {
				asked = now
				tick.Reset(judgeEvery)
			}
		}
		c.Judge()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Ask asks the servers of the store for their clocks, and judges. It reports whether it is done.
func (c *Clock) Ask(ctx context.Context) (done bool) {
	st := c.store.Load()
	if st == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	all, err := (*st).Clocks(ctx, c.cfg.Boot)
	if err != nil {
		return false // the store is away; others report that
	}
	c.mu.Lock()
	c.kinds[Servers] = readings{}
	c.mu.Unlock()
	c.Note(Servers, all...)
	c.Judge()
	return true
}
