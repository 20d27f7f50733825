package migration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/sources"
)

// checkShards is a number of shards for compilations whose shards do not matter.
const checkShards = 64

// Check checks manifests by the schema and the rules of the CRD, compiles them as an archiver does, and
// compares the result with the source: each PV once, with its settings.
func Check(files []File, s *Source) error {
	var groups []v1alpha1.ArchiveGroup
	lists := map[string]*corev1.ConfigMap{}
	for _, f := range files {
		r := manifest.Parse(f.Name, f.Text)
		if err := r.Err(); err != nil {
			return fmt.Errorf("checking the manifests: %w", err)
		}
		groups = append(groups, r.Groups...)
		for _, cm := range r.ConfigMaps {
			lists[cm.Namespace+"/"+cm.Name] = cm
		}
	}
	from := sources.Lookup{ConfigMap: func(namespace, name string) (*corev1.ConfigMap, sources.State) {
		if cm := lists[namespace+"/"+name]; cm != nil {
			return cm, sources.Found
		}
		return nil, sources.Missing
	}}
	listed := map[string]compile.Listed{}
	for i := range groups {
		g := &groups[i]
		listed[g.Namespace+"/"+g.Name], _ = sources.List(g, from)
	}
	r := compile.Compile(groups, listed, compile.Archive{Shards: checkShards}, time.Now())
	for name, g := range r.Groups {
		if len(g.Problems) > 0 {
			return fmt.Errorf("checking the manifests: group %s: %s %s", name, g.Problems[0].PV, g.Problems[0].Message)
		}
		if len(g.Conflicts) > 0 {
			return fmt.Errorf("checking the manifests: PV %s is in the groups %v", g.Conflicts[0].PV, g.Conflicts[0].Groups)
		}
	}
	return compare(r.Assignment, s)
}

// compare compares compiled channels with those of the source.
func compare(got map[int][]capture.Channel, s *Source) error {
	want := make(map[string]*Channel, len(s.Channels))
	for i := range s.Channels {
		want[s.Channels[i].Name] = &s.Channels[i]
	}
	for _, channels := range got {
		for i := range channels {
			ch := &channels[i]
			c := want[ch.PV]
			if c == nil {
				return fmt.Errorf("checking the manifests: PV %s is not in the source, or twice in the groups", ch.PV)
			}
			if err := c.Settings.check(ch.Settings); err != nil {
				return fmt.Errorf("checking the manifests: PV %s: %w from the source, which is a bug of varve: report it with the PV's configuration", ch.PV, err)
			}
			if ch.Names == nil != (len(c.Aliases) == 0) || ch.Names != nil && !slices.Equal(ch.Names.Aliases, c.Aliases) {
				return fmt.Errorf("checking the manifests: PV %s has other aliases than in the source, which is a bug of varve: report it", ch.PV)
			}
			delete(want, ch.PV)
		}
	}
	for name := range want {
		return fmt.Errorf("checking the manifests: %d PVs are in no group, such as %s", len(want), name)
	}
	return nil
}

// check compares compiled settings with those of a channel.
func (s *Settings) check(got *capture.Settings) error {
	var period time.Duration
	mode := capture.Monitor
	if s.Period != "" {
		var err error
		if period, err = s.Period.TimeDuration(); err != nil {
			return err
		}
		mode = capture.Scan
	}
	switch {
	case got.Mode != mode || got.Period != period || got.Absolute != s.Deadband || got.MaxRate != 0:
		return errors.New("the sampling differs")
	case got.Paused != s.Paused:
		return errors.New("the pause differs")
	case got.EnabledBy != s.enabledBy():
		return errors.New("the PV that enables it differs")
	case got.Provider != compile.ProviderOf(s.Provider):
		return errors.New("the provider differs")
	case got.Properties != s.Properties:
		return errors.New("the properties differ")
	}
	return s.checkRetention(&got.Retention)
}

// enabledBy returns the compiled condition.
func (s *Settings) enabledBy() string {
	if s.EnabledBy == "" {
		return ""
	}
	return compile.ProviderOf(s.Provider).String() + "://" + s.EnabledBy + " != 0"
}

// checkRetention compares a compiled retention, whose times are rounded up to tiers.
func (s *Settings) checkRetention(got *store.Retention) error {
	var raw time.Duration
	if s.Raw != "" {
		var err error
		if raw, err = s.Raw.TimeDuration(); err != nil {
			return err
		}
	}
	levels := 0
	for _, l := range got.Levels {
		if l != 0 {
			levels++
		}
	}
	want := 0
	if s.Rollups != "" {
		want = strings.Count(s.Rollups, ",") + 1
	}
	if got.Raw != store.TierFor(raw) || levels != want {
		return errors.New("the retention differs")
	}
	return nil
}
