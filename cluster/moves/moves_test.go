package moves

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

var since = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// shard returns a shard drawn as "a b>J -c>D": engines a, b and c, where c has the order to
// drain; a captures, b joins, c drains. "d?" has not reported a phase.
func shard(index int32, drawn string) *v1alpha1.ArchiveShard {
	phases := map[string]v1alpha1.ShardPhase{"": v1alpha1.Capturing, "J": v1alpha1.Joining, "D": v1alpha1.Draining, "X": v1alpha1.Drained}
	s := &v1alpha1.ArchiveShard{Spec: v1alpha1.ArchiveShardSpec{Index: &index, Channels: 1}, Status: &v1alpha1.ArchiveShardStatus{}}
	for _, word := range strings.Fields(drawn) {
		name, phase, _ := strings.Cut(word, ">")
		e := v1alpha1.ShardEngine{Order: v1alpha1.OrderCapture}
		if rest, drains := strings.CutPrefix(name, "-"); drains {
			name, e.Order = rest, v1alpha1.OrderDrain
		}
		name, silent := strings.CutSuffix(name, "?")
		e.Name = name
		s.Spec.Engines = append(s.Spec.Engines, e)
		if !silent {
			s.Status.Engines = append(s.Status.Engines, v1alpha1.ShardEngineStatus{Name: name, Phase: phases[phase], Since: new(metav1.NewTime(since))})
		}
	}
	return s
}

func TestMovesFollowOrdersAndPhases(t *testing.T) {
	for _, c := range []struct {
		drawn    string
		replicas int
		want     string // FROM-TO:PHASE
	}{
		{"a", 1, ""},
		{"a b", 2, ""},
		// A move from a to b, step by step.
		{"a b?", 1, "a-b:Ordered"},
		{"a b>J", 1, "a-b:Joining"},
		{"a b", 1, "a-b:Capturing"},
		{"b -a", 1, "a-b:Capturing"},
		{"b -a>D", 1, "a-b:Draining"},
		{"b -a>X", 1, ""},
		// The same move of a shard with an additional sealer s, and a shard that gets its
		// first engine.
		{"s a b>J", 2, "a-b:Joining"},
		{"s b -a>D", 2, "a-b:Draining"},
		{"a>J", 1, "-a:Joining"},
		{"s b>J", 2, "-b:Joining"},
		// A cancelled move, and a move whose source died.
		{"a -b>D", 1, "b-a:Draining"},
		{"b>J -a?", 1, "-b:Joining a-b:Ordered"},
		{"-a>D", 1, "a-:Draining -:Unplaced"},
		{"", 1, "-:Unplaced"},
	} {
		state := StateOf([]*v1alpha1.ArchiveShard{shard(7, c.drawn)}, func(int) int { return c.replicas })
		var got []string
		for _, m := range state.Moves {
			got = append(got, fmt.Sprintf("%s-%s:%s", m.From, m.To, m.Phase))
			if known := m.Phase != Ordered && m.Phase != Unplaced; m.Shard != 7 || known != (m.Since != nil) {
				t.Errorf("%q: the move is %+v", c.drawn, m)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: moves are %q, want %q", c.drawn, got, c.want)
		}
	}
}

func TestStateCountsShardsByEngine(t *testing.T) {
	broken := shard(0, "a b>J")
	broken.Status.Engines[1].Message = "a list cannot be read"
	state := StateOf([]*v1alpha1.ArchiveShard{shard(2, "c b>J"), shard(1, "b"), broken, {}}, func(int) int { return 1 })
	if got := fmt.Sprint(state.Engines); got != "[{a 0 1 0} {b 2 1 0} {c 0 1 0}]" {
		t.Errorf("the engines are %s", got)
	}
	if len(state.Moves) != 2 || state.Moves[0].Shard != 0 || state.Moves[1].Shard != 2 || !state.Moves[0].Since.Equal(since) ||
		state.Moves[0].Message != "a list cannot be read" {
		t.Errorf("the moves are %+v", state.Moves)
	}
}
