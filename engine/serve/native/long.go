package native

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/table"
)

// writeLong writes the samples of PVs in a range as a table in a format for data analysis, with a row
// for each sample: see table.LongColumns. The PVs follow each other. Each begins with its last sample
// before the range. If the newest samples of a PV are missing, or samples in damaged blocks, the
// headers of the answer say so, and in Parquet also the metadata of the file.
func (h *Handler) writeLong(ctx context.Context, b *body, s *span) error {
	f, err := h.foresee(ctx, s.pvs, s.from, s.to)
	if err != nil {
		return err
	}
	w, err := table.NewWriter(s.format, b, &table.Schema{
		Columns: table.LongColumns(table.ValueType(f.types)), Notes: s.notes(b, f.earliest()), Origin: h.Origin,
	})
	if err != nil {
		return err
	}
	rows, lost := table.NewLong(w), uint64(0)
	for _, pv := range s.pvs {
		var left query.Losses
		read, err := h.Reader.Read(ctx, pv, s.from, s.to, query.Options{Lost: &left})
		if err == nil {
			if read.CompleteUntil < s.to {
				b.SetCompleteUntil(read.CompleteUntil)
			}
			err = h.appendSamples(ctx, rows, pv, s.to, read.All)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", pv, err)
		}
		lost += left.Count()
	}
	return b.closeTable(w, lost)
}

// foreseen is what is known about PVs before the first byte of an answer.
type foreseen struct {
	until []int64       // until when the samples of each PV are complete
	types []sample.Type // that the PVs have or had
}

// earliest returns until when the samples of all PVs are complete.
func (f *foreseen) earliest() int64 {
	until := int64(query.Latest)
	for _, t := range f.until {
		until = min(until, t)
	}
	return until
}

// foresee returns what is known about PVs in a range. It fails if a PV is unknown.
func (h *Handler) foresee(ctx context.Context, pvs []string, from, to int64) (all foreseen, err error) {
	type one struct {
		until int64
		types []sample.Type
	}
	err = query.InOrder(ctx, pvs, func(ctx context.Context, pv string) (f one, err error) {
		last, err := h.Reader.LastAt(ctx, pv, to)
		if err == nil {
			f.types, err = h.Reader.Types(ctx, pv, from)
		}
		if errors.Is(err, query.ErrUnknownPV) {
			err = fmt.Errorf("%w%s", err, h.similar(ctx, pv))
		}
		if err != nil {
			return f, fmt.Errorf("reading %s: %w", pv, err)
		}
		if last.Run != nil { // the directory may not have its type yet
			f.types = append(f.types, last.Run.Type)
		}
		f.until = last.CompleteUntil
		return f, nil
	}, func(_ string, f one) error {
		all.until, all.types = append(all.until, f.until), append(all.types, f.types...)
		return nil
	})
	return all, err
}

// appendSamples appends samples of a PV. The units and labels are those at a time.
func (h *Handler) appendSamples(ctx context.Context, rows *table.Long, pv string, at int64, samples iter.Seq2[*sample.Run, error]) error {
	meta, _, err := h.Reader.Metadata(ctx, pv, at)
	if err != nil {
		return err
	}
	d := table.Description{Units: meta.Units, Labels: meta.Labels}
	for run, err := range samples {
		if err != nil {
			return err
		}
		if err := rows.Append(pv, &d, run); err != nil {
			return err
		}
	}
	return nil
}
