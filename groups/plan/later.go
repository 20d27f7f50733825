package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// Later is something that happens at a later time: a group or PVs expire, a planned pause begins or ends, or the data of
// a group is deleted when somebody deletes the group.
type Later struct {
	Group string `json:"group"`
	// Action is Add if only the state after the change has the event, and Remove if only the state before has it.
	Action Action `json:"action"`
	// Event says what happens and when.
	Event string `json:"event"`
}

// CompareLater returns the later events that a change adds and removes. Compare does not show them, because it
// compares what is in effect now.
func CompareLater(before, after State, now time.Time) []Later {
	out := []Later{}
	was, is := before.later(now), after.later(now)
	for e := range is {
		if !was[e] {
			out = append(out, Later{e.Group, Add, e.Event})
		}
	}
	for e := range was {
		if !is[e] {
			out = append(out, Later{e.Group, Remove, e.Event})
		}
	}
	slices.SortFunc(out, func(a, b Later) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Action, b.Action))
	})
	return out
}

// later returns the later events of a state, without actions.
func (s State) later(now time.Time) map[Later]bool {
	events := map[Later]bool{}
	for i := range s.Groups {
		g := &s.Groups[i]
		add := func(format string, args ...any) {
			events[Later{Group: name(g), Event: fmt.Sprintf(format, args...)}] = true
		}
		if s.NeedLabel && g.Spec.DeletionPolicy == v1alpha1.DeleteData { // it works only in a cluster
			add("if somebody deletes the group, its data is deleted, too")
		}
		if isLater(g.Spec.ExpiresAt, now) {
			add("the group expires at %s", utc(g.Spec.ExpiresAt))
		}
		for j := range g.Spec.Channels {
			if ch := &g.Spec.Channels[j]; isLater(ch.ExpiresAt, now) {
				add("%s expires at %s", ch.Name, utc(ch.ExpiresAt))
			}
		}
		for j := range g.Spec.Pauses {
			p := &g.Spec.Pauses[j]
			if p.From == nil || !isLater(p.To, now) {
				continue
			}
			which := ""
			if p.Match != "" {
				which = " of the PVs that match " + p.Match
			}
			add("planned pause%s from %s to %s: %s", which, utc(p.From), utc(p.To), p.Reason)
		}
	}
	return events
}

func isLater(t *metav1.Time, now time.Time) bool { return t != nil && t.After(now) }

func utc(t *metav1.Time) string { return t.UTC().Format(time.RFC3339) }
