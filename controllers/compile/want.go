package compile

import (
	"cmp"
	"fmt"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
)

// want is one group's wish for one PV. There is one for every name, so it is
// small.
type want struct {
	pv       string
	settings *capture.Settings // shared
	age      int32             // index of the member, 0 is the oldest
	inline   int32             // index in the group's channels; fromElsewhere
}

// fromElsewhere is want.inline of names that are listed outside of the group. What
// the group itself says of a PV counts more.
const fromElsewhere = 1<<31 - 1

// compareWants orders by PV, age of the group, and place in the group.
func compareWants(a, b want) int {
	if order := cmp.Compare(a.pv, b.pv); order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(a.age, b.age), cmp.Compare(a.inline, b.inline))
}

// addChannels collects the wishes of the youngest member.
func (c *compiler) addChannels(m member, listed []string) {
	age := int32(len(c.members) - 1)
	group, groupErr := settingsOf(m.spec.Sampling)
	group.Paused = m.spec.Paused
	class := c.class(group)
	for i := range m.spec.Channels {
		ch := &m.spec.Channels[i]
		pv := pvname.Canonical(ch.Name)
		settings, err := class, groupErr
		if ch.Sampling != nil || ch.Paused != nil {
			settings, err = c.channelSettings(m.spec, ch)
		}
		if nameErr := pvname.Check(pv); nameErr != nil {
			err = nameErr
		}
		if err != nil {
			m.out.addProblem(pv, err.Error())
			continue
		}
		c.wants = append(c.wants, want{pv: pv, age: age, settings: settings, inline: int32(i)})
	}
	for _, name := range listed {
		pv, err := pvname.Canonical(name), groupErr
		if nameErr := pvname.Check(pv); nameErr != nil {
			err = nameErr
		}
		if err != nil {
			m.out.addProblem(pv, err.Error())
			continue
		}
		c.wants = append(c.wants, want{pv: pv, age: age, settings: class, inline: fromElsewhere})
	}
}

// channelSettings are those of a channel that has some of its own.
func (c *compiler) channelSettings(group *v1alpha1.ArchiveGroupSpec, ch *v1alpha1.Channel) (*capture.Settings, error) {
	sampling := group.Sampling
	if ch.Sampling != nil {
		sampling = override(group.Sampling, ch.Sampling)
	}
	settings, err := settingsOf(sampling)
	if err != nil {
		return nil, err
	}
	settings.Paused = group.Paused
	if ch.Paused != nil {
		settings.Paused = *ch.Paused
	}
	return c.class(settings), nil
}

// withoutDuplicates leaves one wish of each group, the first. wants are of one
// PV, in order.
func (c *compiler) withoutDuplicates(wants []want) []want {
	if len(wants) == 1 {
		return wants
	}
	kept := wants[:1]
	for _, w := range wants[1:] {
		before := kept[len(kept)-1]
		if w.age != before.age {
			kept = append(kept, w)
			continue
		}
		if m := c.members[w.age]; w.inline != fromElsewhere && m.role == captures {
			channels := m.spec.Channels
			m.out.addProblem(w.pv, fmt.Sprintf("%q and %q are the same PV: the first one counts",
				channels[before.inline].Name, channels[w.inline].Name))
		}
	}
	return kept
}
