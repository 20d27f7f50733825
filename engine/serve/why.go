package serve

import (
	"context"
	"time"

	"varve.dev/varve/engine/serve/native"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/engine/serve/why"
)

// surroundings returns what native.Handler needs to know of groups and engines. The problems of groups name PVs, so only those who
// may read every PV see them.
func (c *Config) surroundings(o *overview.Handler) native.Surroundings {
	return native.Surroundings{
		Storage: o.EngineStorage,
		Groups: func(ctx context.Context, pv, member string) (out []why.Group, incomplete, missing string) {
			if !c.seesAll(ctx) {
				return nil, "", "only those who may read every PV see the groups"
			}
			groups, known, missing := o.Groups()
			if !known {
				return nil, "", missing
			}
			for i := range groups {
				out = append(out, groupOf(&groups[i], pv))
			}
			if member != "" {
				out = append(out, why.Group{Name: member})
				g := &out[len(out)-1]
				g.Channels, g.Connected = o.Members(ctx, member)
			}
			return out, missing, ""
		},
	}
}

// groupOf returns what is wrong with a group, and with a PV in it.
func groupOf(g *overview.Group, pv string) why.Group {
	out := why.Group{Name: g.Group}
	if t, err := time.Parse(time.RFC3339, g.Settings.ExpiresAt); err == nil {
		out.ExpiresAt = t.UnixNano()
	}
	for _, p := range g.Problems {
		switch {
		case p.Severity != overview.SeverityError:
		case p.PV == "":
			out.Errors = append(out.Errors, p.Text)
		case p.PV == pv:
			out.OfPV = append(out.OfPV, p.Text)
		}
	}
	return out
}
