package handover

import (
	"slices"
	"strings"
	"testing"
)

// fewSeeds is the number of schedules of each profile that `make test` explores.
const fewSeeds = min(30, perProfile)

var profiles = []Profile{Anything, Planned, Redundant}

// lastSteps is the number of trace lines that a failed test prints.
const lastSteps = 300

// explain runs a seed again, with a trace.
func explain(cfg Config, seed uint64) string {
	cfg.Trace = true
	r := Run(cfg, seed)
	return strings.Join(r.Trace[max(0, len(r.Trace)-lastSteps):], "\n")
}

func TestNothingIsLostOrReadTwice(t *testing.T) { explore(t, fewSeeds) }

func TestLong_NothingIsLostOrReadTwice(t *testing.T) { explore(t, perProfile) }

// explore fails if a schedule loses a sample or reads one twice, or if an event that the
// test must cover never happens.
func explore(t *testing.T, seeds uint64) {
	var total Counts
	steps := 0
	for _, p := range profiles {
		for seed := range seeds {
			r := Run(Config{Profile: p}, seed)
			if r.Violation != "" {
				t.Fatalf("%v: seed %d: %s\n%s", p, seed, r.Violation, explain(Config{Profile: p}, seed))
			}
			steps += r.Steps
			total.Add(&r.Counts)
		}
	}
	var table strings.Builder
	if err := total.Print(&table); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d schedules, %d steps\n%s", len(profiles)*int(seeds), steps, table.String())
	for e, n := range total {
		if n == 0 {
			t.Errorf("this event never happened: %v", Event(e))
		}
	}
}

// finders has a seed for each Fault that finds the fault quickly. Another seed may do so after
// a change of the simulation.
var finders = [faults]uint64{
	EarlyClose: 121, SameWriter: 1, EarlySeal: 7, UncheckedClaim: 625, EarlyForget: 1, BlocksFirst: 7, BlindDrop: 258, ClockDrop: 258,
	TwoRowsUnderWay: 162, OldPosition: 232, SameBlocks: 1, HastySealer: 237, SilentDeath: 6, LateMark: 248, UnreadUpdates: 81, OwnTime: 0, BlindSuccessor: 27,
	ClockRestamp: 8, ClockExpiry: 5, ClockTTL: 3, ClockMarks: 0, CloseSpooled: 115,
}

// TestFaultsAreFound checks that the simulation finds each Fault within 1000 seeds. It begins
// with the seed in finders, which is much faster than to begin with 0.
func TestFaultsAreFound(t *testing.T) {
	const seeds = 1000
	for f := None + 1; f < faults; f++ {
		t.Run(f.String(), func(t *testing.T) {
			cfg := Config{Profile: Anything, Fault: f}
			if f == EarlyClose || f == BlindSuccessor {
				cfg.Profile = Planned
			}
			for i := range uint64(seeds) {
				seed := (finders[f] + i) % seeds
				if r := Run(cfg, seed); r.Violation != "" {
					t.Logf("%v, seed %d: %s", cfg.Profile, seed, r.Violation)
					return
				}
			}
			t.Error("the simulation does not find the fault")
		})
	}
}

// TestSameSeedSameSteps checks that two runs of a seed are the same.
func TestSameSeedSameSteps(t *testing.T) { repeat(t, 1) }

func TestLong_SameSeedSameSteps(t *testing.T) { repeat(t, 5) }

// repeat runs each of the first seeds again, and compares it with the next seed.
func repeat(t *testing.T, seeds uint64) {
	for _, p := range profiles {
		cfg := Config{Profile: p, Trace: true}
		a := Run(cfg, 0)
		for seed := range seeds {
			if b := Run(cfg, seed); !slices.Equal(a.Trace, b.Trace) || a.Steps != b.Steps || a.Counts != b.Counts {
				t.Errorf("%v: seed %d has %d steps in the first run and %d in the second", p, seed, a.Steps, b.Steps)
			}
			if c := Run(Config{Profile: p}, seed); c.Steps != a.Steps || c.Counts != a.Counts {
				t.Errorf("%v: seed %d has another run without a trace", p, seed)
			}
			other := Run(cfg, seed+1)
			if other.Steps == a.Steps {
				t.Errorf("%v: seeds %d and %d have the same run", p, seed, seed+1)
			}
			a = other
		}
	}
}
