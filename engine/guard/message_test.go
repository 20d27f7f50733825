package guard

import (
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

// TestMessages checks that the message of each state says what happens and why.
func TestMessages(t *testing.T) {
	g := newSizedArchive(t).guard(100)
	g.cfg.Limits.Youngest = 36 * time.Hour
	cutoff := store.Cutoff{Before: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()}
	for _, c := range []struct {
		s     State
		d     Decision
		wants []string
	}{
		{State{}, Decision{Reason: NoLimit}, []string{"no limit is set"}},
		{State{}, Decision{Reason: BelowLimit, Cutoff: cutoff}, []string{"raw samples before 2026-03-01", "are deleted"}},
		{State{Left: 5 * time.Hour}, Decision{Reason: NearLimit}, []string{"begins to delete", "about 5 hours"}},
		{State{Left: 24 * time.Hour}, Decision{Reason: NearLimit}, []string{"about 1 day"}},
		{State{Left: 60 * time.Hour}, Decision{Reason: NearLimit}, []string{"about 2.5 days"}},
		{State{}, Decision{Reason: Measuring}, []string{"measures the size"}},
		{State{}, Decision{Reason: OnlyWarning}, []string{"deletes nothing", "warn only"}},
		{State{}, Decision{Reason: WaitingForRoom, Waiting: 1 << 20}, []string{"1.0 MiB", "sweep the floor"}},
		{State{}, Decision{Reason: NothingLeft}, []string{"younger than 36h0m0s"}},
		{State{Behind: 2}, Decision{Reason: Dropping, Cutoff: cutoff}, []string{"2 of", "shards have not deleted"}},
	} {
		got := g.message(&c.s, &c.d, 100, 95)
		for _, want := range c.wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", c.d.Reason, got, want)
			}
		}
	}
}
