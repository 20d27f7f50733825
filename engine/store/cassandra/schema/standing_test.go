package schema

import (
	"fmt"
	"testing"
)

func TestNextStepOfReplication(t *testing.T) {
	for _, test := range []struct {
		name   string
		s      standing
		wanted int
		deed   deed
		to     int
	}{
		{"as it should be", standing{3, 3, 3, 0}, 3, nothing, 0},
		{"first step up", standing{1, 3, 1, 0}, 3, alter, 2},
		{"altered, not repaired", standing{2, 3, 1, 2}, 3, compare, 0},
		{"second step up", standing{2, 3, 2, 0}, 3, alter, 3},
		{"noted, not altered", standing{1, 3, 1, 2}, 3, alter, 2},
		{"a step down", standing{3, 3, 3, 0}, 1, alter, 2},
		{"down, not repaired", standing{2, 3, 3, 2}, 1, compare, 0},
		{"wanted otherwise before the repair", standing{3, 3, 2, 3}, 2, alter, 2},
		{"back, not repaired", standing{2, 3, 2, 3}, 2, compare, 0},
		{"back, and wanted lower", standing{2, 3, 2, 3}, 1, compare, 0},
		{"unknown number", standing{3, 3, 0, 0}, 3, compare, 0},
		{"unknown number, one replica", standing{1, 3, 0, 0}, 2, alter, 2},
		{"unknown number, one replica is wanted", standing{1, 1, 0, 0}, 1, nothing, 0},
		{"somebody altered it", standing{3, 3, 1, 0}, 3, compare, 0},
		{"somebody altered it to one", standing{1, 3, 3, 2}, 1, nothing, 0},
		{"fewer nodes than replicas", standing{3, 1, 3, 0}, 1, alter, 2},
		{"still fewer", standing{2, 1, 3, 2}, 1, alter, 1},
		{"as many nodes again", standing{1, 1, 3, 1}, 1, compare, 0},
	} {
		if deed, to := test.s.next(test.wanted); deed != test.deed || to != test.to {
			t.Errorf("%s: got action %d and number %d, want %d and %d", test.name, deed, to, test.deed, test.to)
		}
	}
}

func majority(n int) int { return n/2 + 1 }

// TestNoStepMissesASample visits all sequences of steps that Replicate can take, including
// interruptions and new target numbers at any point. At each point it checks that every quorum
// that a reader may use has all acknowledged rows. A row may have been acknowledged by any
// quorum that was valid since the last repair.
func TestNoStepMissesASample(t *testing.T) {
	const most = 5
	type state struct {
		standing
		since [most + 1]bool // numbers of replicas with which samples were acknowledged after the last repair
		last  int            // the previous number of replicas, which some nodes may still use
	}
	seen := map[state]bool{}
	var visit func(s state, how string)
	visit = func(s state, how string) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, reader := range []int{s.present, s.last} {
			for writer, any := range s.since {
				// The replicas of the lower number are a subset of those of the higher number.
				// The two quorums must overlap within this subset.
				low := min(reader, writer)
				if any && majority(reader)-max(0, reader-low)+majority(writer)-max(0, writer-low) <= low {
					t.Fatalf("%s: a reader of %d replicas misses rows that were written with %d replicas", how, reader, writer)
				}
			}
		}
		for wanted := 1; wanted <= most; wanted++ {
			n, then := s, fmt.Sprintf("%s → %d", how, wanted)
			switch deed, to := s.next(wanted); deed {
			case alter:
				n.settled, n.step = s.noting(to)
				visit(n, then+" (interrupted)")
				n.last, n.present = s.present, to
				n.since[to] = true
				visit(n, then)
			case compare:
				n.settled, n.step, n.last = s.present, 0, s.present
				n.since = [most + 1]bool{}
				n.since[s.present] = true
				visit(n, then+" (repaired)")
			}
		}
	}
	for first := 1; first <= most; first++ {
		s := state{standing: standing{present: first, nodes: most, settled: first}, last: first}
		s.since[first] = true
		visit(s, fmt.Sprint(first))
	}
	t.Logf("%d states", len(seen))
}
