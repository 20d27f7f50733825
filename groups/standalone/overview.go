package standalone

import (
	"errors"
	"fmt"
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/summary"
)

// Groups returns the groups as applied. missing says why groups are missing. It is empty if none are.
func (d *Driver) Groups() (groups []overview.Group, missing string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	groups = slices.Clone(d.groups)
	for i := range groups {
		groups[i].Problems = append(slices.Clone(groups[i].Problems), d.deletionsLocked(groups[i].Group)...)
	}
	return groups, d.invalid
}

// deletionsLocked returns the state of the deletions of a group.
func (d *Driver) deletionsLocked(group string) []overview.Problem {
	if d.eraser == nil {
		return nil
	}
	return d.eraser.problems(group)
}

// Check checks a manifest as a cluster does.
func (d *Driver) Check(text []byte) overview.Checked { return summary.Check(text, d.provider()) }

// provider returns the default provider of channels.
func (d *Driver) provider() v1alpha1.Provider {
	if d.Archive.Provider == capture.PVA {
		return v1alpha1.PVAccess
	}
	return v1alpha1.ChannelAccess
}

// noSenders is the problem of a group whose requests have no effect.
const noSenders = "requests has no effect: the archive does not know who sends a request"

// publishGroups makes the groups known to Groups.
func (d *Driver) publishGroups() {
	groups := make([]overview.Group, 0, len(d.files.Groups))
	for i := range d.files.Groups {
		g := &d.files.Groups[i]
		out := summary.Of(g, d.provider(), d.compiled.Groups[g.Namespace+"/"+g.Name])
		if g.Spec.Redundancy > 1 {
			out.Problems = append(out.Problems, overview.Problem{
				Severity: overview.SeverityInfo, Text: "redundancy 2 has no effect: this archive has one engine", Advice: "Remove spec.redundancy, or run Varve in a cluster.",
			})
		}
		if g.Spec.Requests != nil && d.Anonymous {
			out.Problems = append(out.Problems, overview.Problem{
				Severity: overview.SeverityWarning, Text: noSenders, Advice: "Start varve standalone with --access, which says who the senders of requests are.",
			})
		}
		groups = append(groups, out)
	}
	invalid := ""
	for _, err := range d.files.Errors {
		if !addError(groups, err) && invalid == "" {
			invalid = "a manifest is invalid: " + err.Error()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups, d.invalid = groups, invalid
}

// addError adds an error in a manifest to its group. It returns false if there is no such group.
func addError(groups []overview.Group, err error) (added bool) {
	var at *manifest.Error
	if !errors.As(err, &at) || at.Group == "" {
		return false
	}
	for i := range groups {
		if g := &groups[i]; len(g.Group) > len(at.Group) && g.Group[len(g.Group)-len(at.Group)-1:] == "/"+at.Group {
			added = true
			g.Problems = append(g.Problems, overview.Problem{
				Severity: overview.SeverityError, Text: fmt.Sprintf("the manifest is invalid, and its last valid content stays in effect: %v", err), Advice: "Correct the file. It is read again at once.",
			})
		}
	}
	return added
}
