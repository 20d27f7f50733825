package native

import (
	"context"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/serve/openapi"
)

// addNames adds the other names of a PV to a channel, given the name that was asked for.
func (h *Handler) addNames(ctx context.Context, c *channel, asked string) error {
	f, err := h.Reader.OtherNames(ctx, asked)
	if err != nil {
		return err
	}
	c.PV, c.Formerly, c.Aliases = asked, f.Former, f.Aliases
	if f.PV != asked {
		c.AliasOf = f.PV
	}
	return nil
}

// namedRow returns a row of the table of PVs, with the other names of the PV. Without them if the store does not answer.
func (h *Handler) namedRow(ctx context.Context, s *capture.Status) pvRow {
	row := newRow(s)
	if f, err := h.Reader.OtherNames(ctx, s.PV); err == nil {
		row.Formerly, row.Aliases = f.Former, f.Aliases
	}
	return row
}

func formerlySchema() openapi.Schema {
	s := openapi.List(openapi.String(""))
	s["description"] = "The former names of the PV, the latest first."
	return s
}

func aliasesSchema() openapi.Schema {
	s := openapi.List(openapi.String(""))
	s["description"] = "The aliases of the PV."
	return s
}
