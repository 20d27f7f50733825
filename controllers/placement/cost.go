package placement

import (
	"math"
	"time"
)

// These constants are the parts of a shard's cost for its engine, in µs of CPU per second.
const (
	// sampleCost is the cost of one sample per second. docs/benchmarks.md reports 0.92 µs at
	// 10 Hz (cassandra_10hz.engine_cpu), and 1.3 µs with a real IOC.
	sampleCost = 1.0
	// byteCost is the cost of one byte of values per second: encoding 8 bytes takes 20 ns
	// (block.adc.encode).
	byteCost = 0.0025
	// channelCost is the cost of a channel that sends nothing, for reports and the
	// watchdog. It is assumed, not measured. It only has to be small compared with a
	// channel at 10 Hz, and large enough to spread shards whose channels are all idle.
	channelCost = 2.0
	// circuitCost is the cost of a connection, for its reads, echoes and timers. It is assumed
	// to equal the cost of a channel at 50 Hz.
	circuitCost = 50.0
)

// Load is the load that a shard adds to each engine that captures it. Unknown figures
// are 0.
type Load struct {
	// SamplesPerSecond and BytesPerSecond are the rates of values.
	SamplesPerSecond, BytesPerSecond float64
	// Channels is the number of channels. Circuits is the number of connections to IOCs
	// for them.
	Channels, Circuits float64
	// Connected is the number of channels that are connected, paused, or of a type that cannot be
	// archived. It costs nothing, but tells why a load falls.
	Connected float64
}

// Cost is the CPU that an engine needs for a shard, in µs per second.
func (l Load) Cost() float64 {
	return sampleCost*l.SamplesPerSecond + byteCost*l.BytesPerSecond + channelCost*l.Channels + circuitCost*l.Circuits
}

// Smoother averages the measured loads of shards over time, so that a burst does not move a
// shard. The zero value does not smooth.
type Smoother struct {
	// HalfLife is the time after which the average has followed half of a change.
	HalfLife time.Duration
	shards   map[int]smoothed
}

// smoothed is the average load of a shard, with the time of the last measurement. Its Connected is
// the number of connected channels at the time full, when they were last not far fewer than before.
type smoothed struct {
	Load
	at, full time.Time
}

// Observe adds a measurement of a shard. The first one counts in full. Figures that are
// negative, infinite or not a number count as 0. While far fewer channels are connected than
// before, figures do not fall, for up to a day: the load will be back with the IOCs. Otherwise an
// engine that lost its IOCs would look idle, and would get more shards.
func (s *Smoother) Observe(now time.Time, shard int, l Load) {
	if s.shards == nil {
		s.shards = map[int]smoothed{}
	}
	old, known := s.shards[shard]
	connected, full := l.Connected, now
	if known && few(int(l.Connected), int(min(old.Connected, l.Channels))) && now.Sub(old.full) < reachedKept {
		l, connected, full = atLeast(l, old.Load), old.Connected, old.full
	}
	part := 1.0
	if known && s.HalfLife > 0 {
		part = 1 - math.Exp2(-max(now.Sub(old.at), 0).Seconds()/s.HalfLife.Seconds())
	}
	mix := func(old, now float64) float64 {
		if math.IsNaN(now) || math.IsInf(now, 0) || now < 0 {
			now = 0
		}
		return old + part*(now-old)
	}
	s.shards[shard] = smoothed{at: now, full: full, Load: Load{
		SamplesPerSecond: mix(old.SamplesPerSecond, l.SamplesPerSecond),
		BytesPerSecond:   mix(old.BytesPerSecond, l.BytesPerSecond),
		Channels:         mix(old.Channels, l.Channels),
		Circuits:         mix(old.Circuits, l.Circuits),
		Connected:        connected,
	}}
}

// atLeast returns the higher figures of two loads.
func atLeast(a, b Load) Load {
	return Load{
		SamplesPerSecond: max(a.SamplesPerSecond, b.SamplesPerSecond),
		BytesPerSecond:   max(a.BytesPerSecond, b.BytesPerSecond),
		Channels:         max(a.Channels, b.Channels),
		Circuits:         max(a.Circuits, b.Circuits),
	}
}

// Weights returns the cost of each shard, given its number of channels. The channels of a
// shard that was never measured count with the mean cost of the measured channels. If no shard
// was measured, only the number of channels counts. A shard without channels costs nothing.
func (s *Smoother) Weights(channels []int) []float64 {
	var sum Load
	for i, n := range channels {
		if l, known := s.shards[i]; known && n > 0 {
			sum.SamplesPerSecond += l.SamplesPerSecond
			sum.BytesPerSecond += l.BytesPerSecond
			sum.Circuits += l.Circuits
			sum.Channels += float64(n)
		}
	}
	out := make([]float64, len(channels))
	for i, n := range channels {
		if n <= 0 {
			continue
		}
		l := s.shards[i].Load
		if _, known := s.shards[i]; !known && sum.Channels > 0 {
			part := float64(n) / sum.Channels
			l = Load{SamplesPerSecond: part * sum.SamplesPerSecond, BytesPerSecond: part * sum.BytesPerSecond, Circuits: part * sum.Circuits}
		}
		l.Channels = float64(n)
		out[i] = l.Cost()
	}
	return out
}
