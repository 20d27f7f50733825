// Package summary describes ArchiveGroups to people, with their settings as applied. It is pure:
//
//	ArchiveGroup, compile.Group ──Of──▶ overview.Group ──▶ /api/v1/groups
//	text of a manifest ────────Check──▶ overview.Checked ──▶ /api/v1/groups/check
package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/groups/compile"
)

// Of describes a group. provider is the default provider of the archive. compiled is the result of
// its compilation. Both may be absent.
func Of(g *v1alpha1.ArchiveGroup, provider v1alpha1.Provider, compiled *compile.Group) overview.Group {
	out := overview.Group{
		Group: g.Namespace + "/" + g.Name, Settings: settings(&g.Spec, provider), Problems: problems(compiled),
		Manifest: manifestOf(g), Spec: g.Spec,
	}
	if g.Spec.Paused {
		out.Problems = append(out.Problems, overview.Problem{
			Severity: overview.SeverityInfo, Text: "the group is paused", Advice: "Remove spec.paused to continue the capture. Stored data stays.",
		})
	}
	out.Problems = append(out.Problems, conditionProblems(g.Status)...)
	out.Problems = append(out.Problems, deletionProblems(g.Status)...)
	if g.Status != nil {
		for _, c := range g.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady {
				out.Condition = c.Message
			}
		}
	}
	return out
}

// unknownProvider stands for the default provider of an archive where that is not known.
const unknownProvider = "default"

// settings returns the settings of a group, with defaults.
func settings(s *v1alpha1.ArchiveGroupSpec, provider v1alpha1.Provider) overview.Settings {
	out := overview.Settings{
		Provider: string(cmp.Or(s.Provider, provider, unknownProvider)), Sampling: sampling(s.Sampling) + enabled(s.EnabledBy), Retention: compile.Describe(s),
		Redundancy: int(max(1, s.Redundancy)), ShardBy: shardBy(s.ShardBy), Paused: s.Paused, OnDelete: "data stays", Channels: len(s.Channels),
	}
	if s.DeletionPolicy == v1alpha1.DeleteData {
		out.OnDelete = "data of PVs that no other group archives is deleted"
	}
	for _, p := range s.Properties {
		out.Properties = append(out.Properties, string(p))
	}
	for _, f := range s.Fields {
		out.Fields = append(out.Fields, string(f))
	}
	if s.ExpiresAt != nil {
		out.ExpiresAt = s.ExpiresAt.UTC().Format(time.RFC3339)
	}
	for i := range s.Channels {
		own := s.Channels[i]
		own.Name = ""
		if !isZero(&own) {
			out.Own++
		}
	}
	for _, from := range s.ChannelsFrom {
		switch {
		case from.ConfigMap != nil:
			out.Sources = append(out.Sources, "ConfigMap "+from.ConfigMap.Name)
		case from.ChannelFinder != nil:
			out.Sources = append(out.Sources, "ChannelFinder "+from.ChannelFinder.URL+", query "+from.ChannelFinder.Query)
		}
	}
	return out
}

// enabled describes the condition that enables the capture.
func enabled(e *v1alpha1.EnabledBy) string {
	if e == nil {
		return ""
	}
	return "; only while " + e.PV + " " + cmp.Or(e.When, "!= 0")
}

// isZero reports whether a channel has no settings.
func isZero(c *v1alpha1.Channel) bool {
	return c.Provider == "" && c.Fields == nil && c.Sampling == nil && c.EnabledBy == nil && c.Properties == nil && c.Retention == nil && c.Redundancy == nil && c.Paused == nil && c.ExpiresAt == nil
}

// sampling describes which updates are stored.
func sampling(s *v1alpha1.Sampling) string {
	s = cmp.Or(s, &v1alpha1.Sampling{})
	var parts []string
	if s.Mode == v1alpha1.Scan && s.Period != nil {
		parts = append(parts, "the value at each multiple of "+string(*s.Period))
	} else {
		parts = append(parts, "every update")
	}
	if s.Deadband != nil {
		parts = append(parts, deadband(s.Deadband)...)
	}
	if s.MaxPeriod != nil {
		parts = append(parts, "at least one sample in each "+string(*s.MaxPeriod))
	}
	if s.MaxRate != nil && *s.MaxRate > 0 {
		parts = append(parts, "at most "+number(*s.MaxRate)+" samples/s")
	}
	if len(s.Events) > 0 {
		var events []string
		for _, e := range s.Events {
			events = append(events, string(e))
		}
		slices.Sort(events)
		parts = append(parts, "events "+strings.Join(events, ", "))
	}
	if s.Clock == v1alpha1.EngineClock {
		parts = append(parts, "time stamps of the engine")
	}
	if l := s.ClockLimit; l != nil {
		parts = append(parts, fmt.Sprintf("clock of the IOC at most %s ahead and %s behind, otherwise %s",
			limit(l.Ahead, "5m"), limit(l.Behind, "1d"), strings.ToLower(string(cmp.Or(l.OnExceeded, v1alpha1.Restamp)))))
	}
	return strings.Join(parts, "; ")
}

func deadband(d *v1alpha1.Deadband) (parts []string) {
	if d.Absolute > 0 {
		parts = append(parts, "deadband "+number(d.Absolute))
	}
	if d.Relative > 0 {
		parts = append(parts, "deadband "+number(100*d.Relative)+" %")
	}
	if d.Unchanged {
		parts = append(parts, "no unchanged values")
	}
	if d.Heartbeat != nil {
		parts = append(parts, "one update in each "+string(*d.Heartbeat)+" passes the deadband")
	}
	return parts
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func limit(d *v1alpha1.Duration, def string) string {
	if d == nil {
		return def
	}
	return string(*d)
}

func shardBy(s *v1alpha1.ShardBy) string {
	switch {
	case s != nil && s.Prefix != nil:
		return "PVs with the same " + s.Prefix.Regex + " are on one engine"
	case s != nil && s.Group != nil:
		return "all PVs are on one engine"
	}
	return "PVs are distributed one by one"
}

// maxListed is the number of PVs that the text of a conflict names.
const maxListed = 50

// problems describes the problems that the compilation found.
func problems(c *compile.Group) (out []overview.Problem) {
	if c == nil {
		return nil
	}
	if c.Expired {
		return []overview.Problem{{
			Severity: overview.SeverityInfo, Text: "the group has expired and is no longer captured", Advice: "Remove spec.expiresAt, or set it to a later time, to capture it again. Stored data stays.",
		}}
	}
	for _, p := range c.Problems {
		out = append(out, overview.Problem{Severity: overview.SeverityError, PV: p.PV, Text: p.Message})
	}
	if c.MoreProblems > 0 {
		out = append(out, overview.Problem{Severity: overview.SeverityError, Text: fmt.Sprintf("%d more PVs have problems", c.MoreProblems)})
	}
	for _, i := range c.UnusedRules() {
		out = append(out, overview.Problem{
			Severity: overview.SeverityWarning, Text: fmt.Sprintf("spec.rules[%d] applies to no PV", i), Advice: "Run varve plan to see which rule applies to which PV.",
		})
	}
	for i, x := range c.Conflicts {
		if i == maxListed {
			break
		}
		out = append(out, conflict(&x))
	}
	if more := len(c.Conflicts) + c.MoreConflicts - maxListed; more > 0 {
		out = append(out, overview.Problem{Severity: overview.SeverityWarning, Text: fmt.Sprintf("%d more PVs are in several groups", more)})
	}
	return out
}

func conflict(x *compile.Conflict) overview.Problem {
	p := overview.Problem{
		Severity: overview.SeverityWarning, PV: x.PV, Text: "the PV is in several groups: " + strings.Join(x.Groups, ", ") + "; the settings that keep more are used",
		Advice: "List the PV in one group.",
	}
	if x.DifferentProviders {
		p.Text += "; the groups request it by different providers, and " + x.Provider.String() + " is used"
	}
	return p
}

// advice says what to do about conditions.
var advice = map[string]string{
	v1alpha1.ConditionDegraded:     "Look at the channels below, and at the status of the group (kubectl describe archivegroup).",
	v1alpha1.ConditionConflicted:   "List each PV in one group.",
	v1alpha1.ConditionQuestionable: "Channel names are not patterns: list the PVs, or take them from ChannelFinder with spec.channelsFrom. Correct or remove rules that apply to no PV.",
	v1alpha1.ConditionExpired:      "Remove spec.expiresAt, or set it to a later time, to capture the group again. Stored data stays.",
}

// conditionProblems describes the conditions that are not as they should be.
func conditionProblems(s *v1alpha1.ArchiveGroupStatus) (out []overview.Problem) {
	if s == nil {
		return nil
	}
	for _, c := range s.Conditions {
		switch {
		case c.Status != metav1.ConditionTrue:
		case c.Type == v1alpha1.ConditionDegraded:
			out = append(out, overview.Problem{Severity: overview.SeverityError, Text: c.Message, Advice: advice[c.Type]})
		case c.Type == v1alpha1.ConditionConflicted, c.Type == v1alpha1.ConditionQuestionable:
			out = append(out, overview.Problem{Severity: overview.SeverityWarning, Text: c.Message, Advice: advice[c.Type]})
		case c.Type == v1alpha1.ConditionExpired, c.Type == v1alpha1.ConditionReconciling:
			out = append(out, overview.Problem{Severity: overview.SeverityInfo, Text: c.Message, Advice: advice[c.Type]})
		}
	}
	return out
}

// manifestOf returns the manifest of a group, as a user would write it.
func manifestOf(g *v1alpha1.ArchiveGroup) string {
	type meta struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	m := meta{Name: g.Name, Namespace: g.Namespace, Labels: g.Labels, Annotations: map[string]string{}}
	for k, v := range g.Annotations {
		if k != "kubectl.kubernetes.io/last-applied-configuration" {
			m.Annotations[k] = v
		}
	}
	text, err := yaml.Marshal(struct {
		APIVersion string                    `json:"apiVersion"`
		Kind       string                    `json:"kind"`
		Metadata   meta                      `json:"metadata"`
		Spec       v1alpha1.ArchiveGroupSpec `json:"spec"`
	}{v1alpha1.GroupVersion.String(), v1alpha1.KindArchiveGroup, m, g.Spec})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text)
}
