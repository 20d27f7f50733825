package migration

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
)

// Source is the configuration of another archiver, in terms of Varve.
type Source struct {
	// Kind is the kind of the archiver, such as appliance. It becomes a label of the groups.
	Kind     string
	Channels []Channel
	Notes    []Note
}

// Channel is a PV of a Source.
type Channel struct {
	// Name is the canonical name.
	Name string
	// Policy is the policy or the group of the source. It may be empty.
	Policy   string
	Settings Settings
	// Aliases are other names of the PV, sorted.
	Aliases []string
}

// Settings are the settings of a channel. Lists are sorted, and joined by commas, so that equal settings
// are equal.
type Settings struct {
	// Period is set for mode Scan, and empty for mode Monitor.
	Period   v1alpha1.Duration
	Deadband float64
	Provider v1alpha1.Provider
	Paused   bool
	// EnabledBy is the PV that enables the capture while its value is not 0. It may be empty.
	EnabledBy  string
	Properties string
	// Raw is how long samples are kept, or empty for ever.
	Raw v1alpha1.Duration
	// Rollups are the widths of the bins.
	Rollups string
}

// The field What of a Note has one of these texts.
const (
	// LeftOut means that the PV is in no group.
	LeftOut = "left out"
	// Differs means that the PV is archived, but not exactly as before.
	Differs = "differs"
)

// Note says what could not be translated.
type Note struct{ PV, What, Reason string }

// leaveOut notes that a PV is in no group.
func (s *Source) leaveOut(pv, format string, args ...any) {
	s.Notes = append(s.Notes, Note{pv, LeftOut, fmt.Sprintf(format, args...)})
}

// differ notes that a PV is archived in another way than before.
func (s *Source) differ(pv, format string, args ...any) {
	s.Notes = append(s.Notes, Note{pv, Differs, fmt.Sprintf(format, args...)})
}

// LeftOut returns the number of PVs that are in no group.
func (s *Source) LeftOut() (n int) {
	for _, note := range s.Notes {
		if note.What == LeftOut {
			n++
		}
	}
	return n
}

// add adds a channel under the name that the source has. The prefix ca:// or pva:// of the name is the
// provider.
func (s *Source) add(name string, c Channel) {
	c.Name = pvname.Canonical(name)
	if scheme := pvname.Scheme(name); scheme != "" {
		c.Settings.Provider = v1alpha1.Provider(strings.ToUpper(scheme))
	}
	if scheme, _, found := strings.Cut(c.Name, "://"); found {
		s.leaveOut(name, "names with %s:// are no names of Channel Access or pvAccess", scheme)
		return
	}
	if err := pvname.Check(c.Name); err != nil {
		s.leaveOut(name, "the name cannot be archived: %v", err)
		return
	}
	if c.Name[0] == '#' {
		s.leaveOut(name, "a name that begins with # would be a comment in the list of names; add it to channels of a group")
		return
	}
	s.Channels = append(s.Channels, c)
}

// normalize sorts the channels and the notes, and keeps one channel for each PV. A PV may be in the
// source several times: as X and X.VAL, or in several groups.
func (s *Source) normalize() {
	slices.SortFunc(s.Channels, func(a, b Channel) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Settings.key(), b.Settings.key()))
	})
	kept := s.Channels[:0]
	for _, c := range s.Channels {
		if n := len(kept); n > 0 && kept[n-1].Name == c.Name {
			switch first := kept[n-1]; {
			case first.Settings != c.Settings:
				s.differ(c.Name, "the source lists it again in %q with other settings; those in %q count", c.Policy, first.Policy)
			case first.Policy != c.Policy:
				s.differ(c.Name, "the source lists it again in %q; it is archived once, in %q", c.Policy, first.Policy)
			}
			continue
		}
		kept = append(kept, c)
	}
	s.Channels = kept
	slices.SortFunc(s.Notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.PV, b.PV), cmp.Compare(a.What, b.What), cmp.Compare(a.Reason, b.Reason))
	})
}

// key returns the settings as text, the same for equal settings.
func (s *Settings) key() string { return fmt.Sprintf("%+v", *s) }

// shortest is the shortest period of mode Scan in ms.
const shortest = 100

// setPeriod makes a channel one of mode Scan with a period in seconds. Updates faster than Varve can scan
// become mode Monitor, which stores at least as many samples.
func (s *Source) setPeriod(name string, c *Channel, seconds float64) (ok bool) {
	const longest = 1e9 // s
	ms := math.Round(seconds * 1000)
	switch {
	case !(seconds > 0 && seconds < longest):
		s.leaveOut(name, "the scan period of %v s is not between 0.1 and %g s", seconds, longest)
		return false
	case ms < shortest:
		s.differ(name, "Varve cannot scan every %v s, at most every 0.1 s; it stores every update instead", seconds)
		return true
	}
	if math.Abs(ms-seconds*1000) > 1e-3 {
		s.differ(name, "the scan period of %v s is rounded to %v ms", seconds, ms)
	}
	c.Settings.Period = duration(int64(ms))
	return true
}

// duration returns a number of ms in the largest unit up to hours that divides it.
func duration(ms int64) v1alpha1.Duration {
	for _, u := range []struct {
		ms   int64
		name string
	}{{3600_000, "h"}, {60_000, "m"}, {1000, "s"}} {
		if ms%u.ms == 0 {
			return v1alpha1.Duration(fmt.Sprintf("%d%s", ms/u.ms, u.name))
		}
	}
	return v1alpha1.Duration(fmt.Sprintf("%dms", ms))
}
