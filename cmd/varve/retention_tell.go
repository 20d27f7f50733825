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

// tellPlan writes what groups' retention comes to.
func tellPlan(out io.Writer, groups []forecast.Group, asked map[string]string, compiled map[string]*compile.Group, pvs bool) {
	for i := range groups {
		g := &groups[i]
		if i > 0 {
			fmt.Fprintln(out)
		}
		if g.Name == "" {
			fmt.Fprintf(out, "PVs that no group names: %d. Their data stays as it is, and expires as it was to.\n", g.PVs)
			tellFate(out, g)
			continue
		}
		fmt.Fprintf(out, "%s: %d PVs, %d with data\n  %s\n", g.Name, g.PVs, g.WithData, asked[g.Name])
		if c := compiled[g.Name]; c != nil && c.Longer > 0 {
			fmt.Fprintf(out, "  more is kept of %d of its PVs, as other groups ask\n", c.Longer)
		}
		tellFate(out, g)
		if pvs {
			tellPVs(out, g.Looked)
		}
	}
}

func tellFate(out io.Writer, g *forecast.Group) {
	if len(g.Looked) == 0 {
		return
	}
	if g.Looked[0].Asked {
		switch {
		case g.Moving == 0:
			fmt.Fprintf(out, "  nothing moves\n")
		case g.Move.Samples == 0 && g.Go.Samples == 0:
			fmt.Fprintf(out, "  nothing moves any more: %d PVs were kept for another time before\n", g.Moving)
		default:
			fmt.Fprintf(out, "  moves:  %s\n", amount(g.Move))
			gone := ""
			if g.Gone != 0 {
				gone = ", up to " + date(g.Gone) + ", an hour after the change is taken up at the earliest"
			}
			fmt.Fprintf(out, "  goes:   %s%s\n", amount(g.Go), gone)
		}
	}
	var on []string
	for r, a := range g.Stored {
		if a.Samples > 0 {
			on = append(on, amount(a)+" kept "+keptFor(store.Tier(r)))
		}
	}
	if len(on) > 0 {
		fmt.Fprintf(out, "  stored: %s, since %s\n", strings.Join(on, "; "), date(g.Oldest))
	}
	if n := len(g.Looked); n < g.WithData {
		fmt.Fprintf(out, "  (estimated from %d of %d PVs)\n", n, g.WithData)
	}
}

func tellPVs(out io.Writer, pvs []forecast.PV) {
	w := table(out, "  PV", "KEPT", "SINCE", "STORED", "MOVES", "GOES", "UP TO")
	for i := range pvs {
		p := &pvs[i]
		var all forecast.Amount
		for _, a := range p.Stored {
			all.Bytes += a.Bytes
		}
		fmt.Fprintf(w, "  %s\t%v\t%s\t%s\t%s\t%s\t%s\n",
			p.Name, p.Retention.Raw, date(p.Oldest), bytesOf(all.Bytes), bytesOf(p.Move.Bytes), bytesOf(p.Go.Bytes), date(p.Gone))
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

// bytesOf writes a number of bytes for people.
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
