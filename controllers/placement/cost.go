package placement

import (
	"math"
	"time"
)

// What an engine pays for a shard, in µs of CPU per second.
const (
	// sampleCost is of one sample a second: docs/benchmarks.md has 0.92 µs at
	// 10 Hz (cassandra_10hz.engine_cpu) and 1.3 with a real IOC.
	sampleCost = 1.0
	// byteCost is of one byte a second of values: 20 ns to encode one of 8 bytes
	// (block.adc.encode).
	byteCost = 0.0025
	// channelCost is of a channel that sends nothing, which reports and checks for
	// silence look at. It is assumed, not measured: it only has to be small beside
	// a channel at 10 Hz and large enough to spread channels that all are idle.
	channelCost = 2.0
	// circuitCost is of a connection: its reads, echoes and timers. It is assumed
	// to be as of a channel at 50 Hz.
	circuitCost = 50.0
)

// Load is what a shard brings to each engine that captures it. What is not known
// is 0.
type Load struct {
	// SamplesPerSecond and BytesPerSecond of values.
	SamplesPerSecond, BytesPerSecond float64
	// Channels of the shard, and Circuits to IOCs for them.
	Channels, Circuits float64
}

// Cost is the CPU that an engine needs for a shard, in µs per second.
func (l Load) Cost() float64 {
	return sampleCost*l.SamplesPerSecond + byteCost*l.BytesPerSecond + channelCost*l.Channels + circuitCost*l.Circuits
}

// Smoother evens out what is measured of shards over time, so that a burst moves
// nothing. The zero value takes every measurement as it is.
type Smoother struct {
	// HalfLife is how long it takes for half of a change to be believed.
	HalfLife time.Duration
	shards   map[int]smoothed
}

type smoothed struct {
	Load
	at time.Time
}

// Observe takes a measurement of a shard. The first one is believed at once, and
// figures that are no numbers are taken for 0.
func (s *Smoother) Observe(now time.Time, shard int, l Load) {
	if s.shards == nil {
		s.shards = map[int]smoothed{}
	}
	old, known := s.shards[shard]
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
	s.shards[shard] = smoothed{at: now, Load: Load{
		SamplesPerSecond: mix(old.SamplesPerSecond, l.SamplesPerSecond),
		BytesPerSecond:   mix(old.BytesPerSecond, l.BytesPerSecond),
		Channels:         mix(old.Channels, l.Channels),
		Circuits:         mix(old.Circuits, l.Circuits),
	}}
}

// Weights returns the cost of each shard, of which the number of channels is
// given. A shard that was never measured is taken for as busy, by channel, as the
// others; if none was, channels are all that counts. One without channels costs
// nothing.
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
