package handover

import (
	"slices"
	"strings"
	"testing"
)

// fewSeeds is the number of schedules of each profile that `make test` explores.
const fewSeeds = min(100, perProfile)

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

// TestFaultsAreFound checks that the simulation finds each Fault within 1000 seeds.
func TestFaultsAreFound(t *testing.T) {
	for f := None + 1; f < faults; f++ {
		t.Run(f.String(), func(t *testing.T) {
			cfg := Config{Profile: Anything, Fault: f}
			if f == EarlyClose {
				cfg.Profile = Planned
			}
			for seed := range uint64(1000) {
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
func TestSameSeedSameSteps(t *testing.T) {
	for _, p := range profiles {
		for seed := range uint64(5) {
			cfg := Config{Profile: p, Trace: true}
			a, b := Run(cfg, seed), Run(cfg, seed)
			if !slices.Equal(a.Trace, b.Trace) || a.Steps != b.Steps || a.Counts != b.Counts {
				t.Errorf("%v: seed %d has %d steps in the first run and %d in the second", p, seed, a.Steps, b.Steps)
			}
			cfg.Trace = false
			if c := Run(cfg, seed); c.Steps != a.Steps || c.Counts != a.Counts {
				t.Errorf("%v: seed %d has another run without a trace", p, seed)
			}
			if other := Run(Config{Profile: p, Trace: true}, seed+1); other.Steps == a.Steps {
				t.Errorf("%v: seeds %d and %d have the same run", p, seed, seed+1)
			}
		}
	}
}
