package clock

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func newOffset() prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "varve", Subsystem: "clock", Name: "offset_seconds",
		Help: "What must be added to the clock of this machine to get the time by the store, the IOCs or other engines; 0 if none is known.",
	})
}

func newWrong() prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "varve", Subsystem: "clock", Name: "wrong",
		Help: "1 if the clock of this machine is wrong, compared with the store, IOCs and other engines.",
	})
}

// Register adds the metrics of the clock to a registry.
func (c *Clock) Register(r prometheus.Registerer) { r.MustRegister(c.offset, c.wrong) }

// logged is what the log says about the clock.
type logged int

const (
	loggedRight logged = iota
	loggedDoubt
	loggedWrong
)

// show sets the metrics. It logs a change, and at times that the clock is still wrong. The caller
// holds the lock.
func (c *Clock) show(v *Verdict, boot time.Duration) {
	c.offset.Set(v.Measured.Seconds())
	c.wrong.Set(0)
	now := loggedRight
	switch {
	case v.Judgement == Wrong:
		now = loggedWrong
		c.wrong.Set(1)
	case v.IsDoubtful():
		now = loggedDoubt
	}
	if now == c.logged && (now != loggedWrong || boot-c.loggedAt < repeatEvery) {
		return
	}
	c.logged, c.loggedAt = now, boot
	offset := v.Measured.Round(time.Millisecond).String()
	switch now {
	case loggedRight:
		c.cfg.Log.Info("the clock of this machine is right", "because", v.Because)
	case loggedDoubt:
		c.cfg.Log.Warn("it is not known whether the clock of this machine is right; until then nothing expires by it: check the clock (NTP)",
			"offset", offset, "because", v.Because)
	case loggedWrong:
		c.cfg.Log.Warn("the clock of this machine is wrong; good times of IOCs are kept, and nothing expires by this clock: correct the clock (NTP)",
			"offset", offset, "because", v.Because)
	}
}
