package compile

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pause is a planned pause of a group at the present time.
type pause struct {
	match *matcher // nil if all is true, or if the expression is invalid
	all   bool
	why   string
}

// pausesOf returns the planned pauses of a member that apply now, and notes when that changes. A pause whose
// expression is invalid pauses nothing, and is a problem of the group.
func (c *compiler) pausesOf(m *member) (out []pause) {
	if m.role != captures {
		return nil
	}
	for i := range m.spec.Pauses {
		p := &m.spec.Pauses[i]
		if p.From == nil || p.To == nil {
			m.out.addProblem("", fmt.Sprintf("pauses[%d] needs from and to", i))
			continue
		}
		if !p.To.After(c.now) {
			continue
		}
		c.runAgainAt(p.From.Time)
		c.runAgainAt(p.To.Time)
		if p.From.After(c.now) {
			continue
		}
		now := pause{all: p.Match == "", why: fmt.Sprintf("%s (planned from %s to %s)", p.Reason, utc(*p.From), utc(*p.To))}
		if !now.all {
			var err error
			if now.match, err = newMatcher(p.Match); err != nil {
				m.out.addProblem("", fmt.Sprintf("parsing pauses[%d].match: %v", i, err))
			}
		}
		out = append(out, now)
	}
	return out
}

func utc(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

// firstPause returns the index of the first pause of a PV, or -1.
func firstPause(pauses []pause, pv string) int {
	for i := range pauses {
		if pauses[i].all || pauses[i].match.matches(pv) {
			return i
		}
	}
	return -1
}

// pauseUntil pauses a channel that has expired, or that a planned pause pauses. A planned pause does not give its reason
// to a channel that is paused anyway; an expiry does. index is the index of the planned pause, or -1.
func (w *wantCollector) pauseUntil(out *class, index int, expiresAt *metav1.Time) {
	if w.role != captures {
		return
	}
	if expiresAt != nil {
		w.runAgainAt(expiresAt.Time)
		out.ended = !expiresAt.After(w.now)
	}
	switch {
	case out.ended:
		out.Paused, out.PauseReason = true, "its capture ended at "+utc(*expiresAt)+" (expiresAt)"
	case index >= 0 && !out.Paused:
		out.Paused, out.PauseReason = true, w.pauses[index].why
	}
}
