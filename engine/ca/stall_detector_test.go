package ca

import (
	"testing"
	"time"
)

// beat is one read of a circuit. It receives a number of updates, some time after the previous
// read.
type beat struct {
	after   time.Duration
	updates int
}

// steady returns n equal reads.
func steady(n int, after time.Duration, updates int) []beat {
	out := make([]beat, n)
	for i := range out {
		out[i] = beat{after, updates}
	}
	return out
}

func TestStallIsAGapThatABurstEnds(t *testing.T) {
	const tenth = 100 * time.Millisecond
	tenHertz := steady(300, tenth, 10)
	for name, c := range map[string]struct {
		beats []beat
		want  []time.Duration // durations of the stalls
	}{
		"steady":                     {beats: tenHertz},
		"quiet":                      {beats: steady(30, time.Minute, 1)},
		"a stall":                    {append(tenHertz, beat{10 * time.Second, 900}), []time.Duration{10 * time.Second}},
		"one channel":                {append(steady(30, time.Second, 1), beat{10 * time.Second, 9}), []time.Duration{10 * time.Second}},
		"backlog in pieces":          {append(tenHertz, beat{5 * time.Second, 20}, beat{tenth, 20}, beat{tenth, 20}), []time.Duration{5 * time.Second}},
		"the server paused":          {beats: append(tenHertz, append([]beat{{10 * time.Second, 10}}, steady(300, tenth, 10)...)...)},
		"a short gap":                {beats: append(tenHertz, beat{2 * time.Second, 900})},
		"too early to judge":         {beats: append(steady(50, tenth, 10), beat{10 * time.Second, 900})},
		"long gaps are usual":        {beats: append(steady(20, 4*time.Second, 1), beat{10 * time.Second, 50})},
		"bursts are usual":           {beats: append(append(tenHertz, beat{tenth, 1000}), append(steady(100, tenth, 10), beat{10 * time.Second, 900})...)},
		"an answer is no update":     {append(tenHertz, beat{5 * time.Second, 0}, beat{5 * time.Second, 900}), []time.Duration{10 * time.Second}},
		"once for each":              {append(tenHertz, beat{5 * time.Second, 900}, beat{tenth, 900}, beat{tenth, 900}), []time.Duration{5 * time.Second}},
		"again":                      {append(append(tenHertz, beat{5 * time.Second, 900}), append(steady(100, tenth, 10), beat{6 * time.Second, 900})...), []time.Duration{5 * time.Second, 6 * time.Second}},
		"many updates at the start":  {append(append([]beat{{0, 5000}}, tenHertz...), beat{10 * time.Second, 900}), []time.Duration{10 * time.Second}},
		"a stall long after a pause": {append(append(tenHertz, beat{10 * time.Second, 10}), append(steady(700, tenth, 10), beat{10 * time.Second, 900})...), []time.Duration{10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			var d stallDetector
			now := time.Unix(0, 0)
			var got []time.Duration
			for _, b := range c.beats {
				now = now.Add(b.after)
				d.noteGap(now)
				if d.noteUpdates(now, b.updates) {
					got = append(got, d.to.Sub(d.from))
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("stalls %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("stalls %v, want %v", got, c.want)
				}
			}
		})
	}
}
