package compile

import (
	"cmp"
	"fmt"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/condition"
	"varve.dev/varve/engine/pvname"
)

// defaultWhen is the condition of enabledBy without when.
const defaultWhen = "!= 0"

// setEnabledBy sets the condition that enables a channel, whose other settings are known. If policies do not let the group show
// the value of the PV on which it depends, the channel has no condition: who reads its state would learn the value.
func (w *wantCollector) setEnabledBy(out *capture.Settings, e *v1alpha1.EnabledBy) error {
	if e == nil {
		return nil
	}
	pv := pvname.Canonical(e.PV)
	if err := pvname.Check(pv); err != nil {
		return fmt.Errorf("checking enabledBy.pv: %w", err)
	}
	when := cmp.Or(strings.TrimSpace(e.When), defaultWhen)
	if _, err := condition.Parse(when); err != nil {
		return fmt.Errorf("parsing enabledBy.when: %w", err)
	}
	if by, hidden := w.Policies.Hides(w.group, pv); hidden {
		if !w.hidden[pv] {
			w.hidden[pv] = true
			w.out.addProblem("", fmt.Sprintf("enabledBy %s is ignored, so the PVs are always captured: ArchivePolicy %s lets neither this group own it nor everybody read it", pv, by))
		}
		return nil
	}
	out.EnabledBy = cmp.Or(pvname.Scheme(e.PV), out.Provider.String()) + "://" + pv + " " + when
	return nil
}

// keepEnabled merges the conditions of two groups for a PV. If they differ, the PV is always captured.
func keepEnabled(out *capture.Settings, a, b capture.Settings) {
	if out.EnabledBy = a.EnabledBy; a.EnabledBy != b.EnabledBy {
		out.EnabledBy = ""
	}
}
