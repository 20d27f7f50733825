package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"varve.dev/varve/groups/plan"
)

// print prints a plan in the format of the options.
func (p *changePlan) print(out io.Writer, o *changeOptions) error {
	if o.format == "json" {
		return json.NewEncoder(out).Encode(p)
	}
	var b strings.Builder
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", printable(note))
	}
	fmt.Fprintf(&b, "%d PVs: %d added, %d removed, %d changed, %d moved, %d unchanged\n",
		len(p.PVs)+p.Unchanged, p.Added, p.Removed, p.Changed, p.Moved, p.Unchanged)
	if p.DataDeleted > 0 {
		fmt.Fprintf(&b, "the stored data of %d PVs would be DELETED\n", p.DataDeleted)
	}
	p.printDeletions(&b, o.most)
	for _, part := range []struct {
		action plan.Action
		title  string
		n      int
	}{{plan.Add, "added", p.Added}, {plan.Remove, "removed", p.Removed}, {plan.Change, "changed", p.Changed}, {plan.Move, "moved", p.Moved}} {
		if part.n > 0 {
			fmt.Fprintf(&b, "\n%s:\n", part.title)
			p.printPart(&b, part.action, part.n, o.most)
		}
	}
	p.printLater(&b, o.most)
	p.printProblems(&b, o.most)
	_, err := io.WriteString(out, b.String())
	return err
}

// printPart prints at most some PVs with an action, of which there are n.
func (p *changePlan) printPart(b *strings.Builder, action plan.Action, n, most int) {
	printed := 0
	for i := range p.PVs {
		pv := &p.PVs[i]
		if pv.Action != action {
			continue
		}
		if most > 0 && printed == most {
			fmt.Fprintf(b, "  … and %d more; --most 0 prints all\n", n-printed)
			return
		}
		printed++
		fmt.Fprintf(b, "  %s  %s\n", printable(pv.Name), describePV(pv))
	}
}

// printDeletions prints the deletions of samples, with at most some PVs of each.
func (p *changePlan) printDeletions(b *strings.Builder, most int) {
	if len(p.Deletions) == 0 {
		return
	}
	b.WriteString("\nsamples DELETED for good, without a way back:\n")
	for i := range p.Deletions {
		d := &p.Deletions[i]
		fmt.Fprintf(b, "  %s %s: %s of %d PVs (%s)\n", d.Group, d.Entry, d.Range, len(d.PVs), printable(d.Reason))
		for n, pv := range d.PVs {
			if most > 0 && n == most {
				fmt.Fprintf(b, "    … and %d more; --most 0 prints all\n", len(d.PVs)-n)
				break
			}
			fmt.Fprintf(b, "    %s\n", printable(pv))
		}
	}
}

// describePV returns what happens to a PV, in a line.
func describePV(pv *plan.PV) string {
	parts := []string{pv.Group}
	if pv.From != "" {
		parts[0] = pv.From + " → " + pv.Group
	}
	if pv.Rule != "" {
		parts[0] += " " + pv.Rule
	}
	for _, s := range pv.Settings {
		parts = append(parts, fmt.Sprintf("%s: %s → %s", s.Name, printable(s.From), printable(s.To)))
	}
	if pv.OtherShard {
		parts = append(parts, "another shard")
	}
	if pv.DeletesData {
		parts = append(parts, "DATA DELETED")
	}
	return strings.Join(parts, "; ")
}

// printLater prints at most some events that happen later.
func (p *changePlan) printLater(b *strings.Builder, most int) {
	if len(p.Later) > 0 {
		b.WriteString("\nlater:\n")
	}
	signs := map[plan.Action]string{plan.Add: "+", plan.Remove: "-"}
	for i, e := range p.Later {
		if most > 0 && i == most {
			fmt.Fprintf(b, "  … and %d more; --most 0 prints all\n", len(p.Later)-most)
			return
		}
		fmt.Fprintf(b, "  %s %s: %s\n", signs[e.Action], e.Group, printable(e.Event))
	}
}

func (p *changePlan) printProblems(b *strings.Builder, most int) {
	total := len(p.NewProblems) + p.MoreProblems
	if total == 0 {
		return
	}
	b.WriteString("\nnew problems:\n")
	for i, problem := range p.NewProblems {
		if most > 0 && i == most {
			break
		}
		where := problem.Group
		if problem.PV != "" {
			where += ": " + problem.PV
		}
		fmt.Fprintf(b, "  %s: %s\n", printable(where), printable(problem.Message))
		total--
	}
	if total > 0 {
		fmt.Fprintf(b, "  … and %d more\n", total)
	}
}
