package compile

import (
	"cmp"
	"fmt"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
)

// want is one group's request for one PV. It is small, because there is one for every name.
type want struct {
	pv       string
	settings *class // shared
	age      int32  // index of the member, 0 is the oldest
	place    int32  // index in the group's channels, or fromElsewhere plus index in the listed names
}

// fromElsewhere is the first want.place of names that are listed outside of the group. The
// group's own channels take precedence over them.
const fromElsewhere = 1 << 20

// compareWants compares by PV, age of the group, and place in the group.
func compareWants(a, b want) int {
	if order := strings.Compare(a.pv, b.pv); order != 0 { // it compares the bytes once, and cmp.Compare twice
		return order
	}
	return cmp.Or(cmp.Compare(a.age, b.age), cmp.Compare(a.place, b.place))
}

// addChannels collects the wants of the youngest member.
func (c *compiler) addChannels(m member, listed []string) {
	w := wantCollector{compiler: c, member: m, age: int32(len(c.members) - 1), common: map[commonKey]commonSettings{}, hidden: map[string]bool{}}
	for i := range m.spec.Channels {
		ch := &m.spec.Channels[i]
		w.addWant(ch.Name, ch, int32(i))
	}
	for i, name := range listed {
		w.addWant(name, nil, int32(fromElsewhere+i))
	}
	if len(m.spec.Fields) > 0 && !w.pva && len(m.spec.Channels)+len(listed) > 0 {
		m.out.addProblem("", "fields have no effect: no channel of the group is captured by pvAccess")
	}
}

// wantCollector collects the wants of one member.
type wantCollector struct {
	*compiler
	member
	age int32
	pva bool // a channel is captured by pvAccess

	// common has the settings of channels without their own settings.
	common map[commonKey]commonSettings
	// hidden has the PVs of enabledBy that policies hide, and that are a problem already.
	hidden map[string]bool
}

// commonKey has everything that the settings of a channel without its own settings depend on. rule and pause are indexes
// into the rules and the pauses of the member, or -1 for none.
type commonKey struct {
	provider    capture.Provider
	rule, pause int
}

// commonSettings are settings, or the reason why there are none.
type commonSettings struct {
	class *class
	err   error
}

// addWant adds the want for a name. ch is nil for a name from elsewhere.
func (w *wantCollector) addWant(name string, ch *v1alpha1.Channel, place int32) {
	pv := pvname.Canonical(name)
	if err := pvname.Check(pv); err != nil {
		w.out.addProblem(pv, err.Error())
		return
	}
	refused := w.refuses(pv)
	if refused && w.role == deletes {
		return
	}
	provider := providerOf(name, ch, w.spec, w.Provider)
	settings, err := w.settings(pv, ch, provider)
	switch {
	case refused && err == nil:
		w.keepOfRefused(pv, settings.Retention)
		return
	case refused:
		return
	case err != nil:
		w.out.addProblem(pv, err.Error())
		return
	}
	if ch != nil && len(ch.Fields) > 0 && provider != capture.PVA {
		w.out.addProblem(pv, "fields have no effect: the channel is captured by Channel Access")
	}
	if pvname.LooksLikePattern(pv) {
		w.out.addPattern(pv)
	}
	w.pva = w.pva || provider == capture.PVA
	at := want{pv: pv, age: w.age, settings: settings, place: place}
	w.wants = append(w.wants, at)
	w.addNames(at, ch)
}

// settings returns the settings of a channel. Channels without their own settings share their settings with the other ones
// that have the same provider, rule and planned pause.
func (w *wantCollector) settings(pv string, ch *v1alpha1.Channel, p capture.Provider) (*class, error) {
	k := commonKey{p, firstRule(w.rules, pv), firstPause(w.pauses, pv)}
	if k.rule >= 0 && w.role == captures {
		w.out.ByRule[k.rule]++
	}
	if ch != nil && (ch.Sampling != nil || ch.Paused != nil || ch.Fields != nil || ch.Properties != nil || ch.Retention != nil || ch.Redundancy != nil || ch.ExpiresAt != nil || ch.EnabledBy != nil) {
		return w.channelSettings(k, ch)
	}
	s, known := w.common[k]
	if !known {
		s.class, s.err = w.channelSettings(k, &v1alpha1.Channel{})
		w.common[k] = s
	}
	return s.class, s.err
}

// channelSettings returns the settings of a channel.
func (w *wantCollector) channelSettings(k commonKey, ch *v1alpha1.Channel) (*class, error) {
	group, p := w.spec, k.provider
	if k.rule >= 0 {
		group = w.rules[k.rule].spec
	}
	sampling := group.Sampling
	if ch.Sampling != nil {
		sampling = override(group.Sampling, ch.Sampling)
	}
	settings, err := settingsOf(sampling)
	if err != nil {
		return nil, err
	}
	settings.Provider = p
	if p == capture.PVA {
		settings.Fields = fieldsOf(group.Fields, ch.Fields)
	}
	settings.Properties = propertiesOf(group.Properties, ch.Properties)
	if settings.Retention, err = retentionOf(cmp.Or(ch.Retention, group.Retention)); err != nil {
		return nil, err
	}
	if err := w.setEnabledBy(&settings, cmp.Or(ch.EnabledBy, group.EnabledBy)); err != nil {
		return nil, err
	}
	settings.Paused = group.Paused
	if ch.Paused != nil {
		settings.Paused = *ch.Paused
	}
	out := class{Settings: settings, twice: !w.Alone && redundancyOf(group, ch) > 1}
	w.pauseUntil(&out, k.pause, ch.ExpiresAt)
	return w.share(out), nil
}

// withoutDuplicates keeps the first want of each group. All wants are for one PV, sorted.
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
		m := c.members[w.age]
		switch {
		case m.role != captures:
		case w.place < fromElsewhere:
			channels := m.spec.Channels
			m.out.addProblem(w.pv, fmt.Sprintf("%q and %q are the same PV; the first entry is used",
				channels[before.place].Name, channels[w.place].Name))
		case before.place >= fromElsewhere && w.settings.Provider != before.settings.Provider:
			m.out.addProblem(w.pv, fmt.Sprintf("it is listed for both %s and %s; the first entry is used",
				before.settings.Provider, w.settings.Provider))
		}
	}
	return kept
}
