package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/groups/compile"
	"varve.dev/varve/groups/forecast"
)

// printPlan prints a forecast.
func printPlan(out io.Writer, groups []forecast.Group, specs map[string]string, compiled map[string]*compile.Group, pvs bool) {
	for i := range groups {
		g := &groups[i]
		if i > 0 {
			fmt.Fprintln(out)
		}
		if g.Name == "" {
			fmt.Fprintf(out, "PVs in no group: %d. Their data stays as it is and expires as planned before.\n", g.PVs)
			printOutcome(out, g)
			continue
		}
		fmt.Fprintf(out, "%s: %d PVs, %d with data\n  %s\n", g.Name, g.PVs, g.WithData, specs[g.Name])
		if c := compiled[g.Name]; c != nil && c.KeptLonger > 0 {
			fmt.Fprintf(out, "  more data is kept of %d of its PVs because other groups request it\n", c.KeptLonger)
		}
		printOutcome(out, g)
		if pvs {
			printPVs(out, g.Sampled)
		}
	}
}

func printOutcome(out io.Writer, g *forecast.Group) {
	if len(g.Sampled) == 0 {
		return
	}
	if g.Sampled[0].InGroup {
		switch {
		case g.Moving == 0:
			fmt.Fprintf(out, "  nothing moves\n")
		case g.Move.Samples == 0 && g.Delete.Samples == 0:
			fmt.Fprintf(out, "  nothing moves: %d PVs had another retention before, but their data has already moved\n", g.Moving)
		default:
			fmt.Fprintf(out, "  moved:   %s\n", amount(g.Move))
			until := ""
			if g.DeletedUntil != 0 {
				until = ", up to " + date(g.DeletedUntil) + ", at the earliest one hour after the change is applied"
			}
			fmt.Fprintf(out, "  deleted: %s%s\n", amount(g.Delete), until)
		}
	}
	var on []string
	for r, a := range g.Stored {
		if a.Samples > 0 {
			on = append(on, amount(a)+" kept "+keptFor(store.Tier(r)))
		}
	}
	if len(on) > 0 {
		fmt.Fprintf(out, "  stored:  %s, since %s\n", strings.Join(on, "; "), date(g.Oldest))
	}
	if n := len(g.Sampled); n < g.WithData {
		fmt.Fprintf(out, "  (estimated from %d of %d PVs)\n", n, g.WithData)
	}
}

func printPVs(out io.Writer, pvs []forecast.PV) {
	w := table(out, "  PV", "KEPT", "SINCE", "STORED", "MOVED", "DELETED", "UP TO")
	for i := range pvs {
		p := &pvs[i]
		var all forecast.Amount
		for _, a := range p.Stored {
			all.Bytes += a.Bytes
		}
		fmt.Fprintf(w, "  %s\t%v\t%s\t%s\t%s\t%s\t%s\n",
			p.Name, p.Retention.Raw, date(p.Oldest), bytesOf(all.Bytes), bytesOf(p.Move.Bytes), bytesOf(p.Delete.Bytes), date(p.DeletedUntil))
	}
	_ = w.Flush()
}

func amount(a forecast.Amount) string {
	if a.Samples == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s (%d samples)", bytesOf(a.Bytes), a.Samples)
}

func keptFor(r store.Tier) string {
	if r == store.Forever {
		return "forever"
	}
	return "for " + r.String()
}

// bytesOf formats a number of bytes with a binary unit.
func bytesOf(n int64) string {
	size, unit := float64(n), "B"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, larger
	}
	if unit == "B" || size >= 100 {
		return fmt.Sprintf("%.0f %s", size, unit)
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

func date(ns int64) string {
	if ns == 0 {
		return "-"
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04Z")
}
