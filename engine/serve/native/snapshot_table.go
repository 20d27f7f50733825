package native

import (
	"context"
	"math"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/serve/table"
)

// limitNames are the names of the limits of a PV, in the order of limitsOf.
var limitNames = []string{"displayLow", "displayHigh", "warnLow", "warnHigh", "alarmLow", "alarmHigh", "controlLow", "controlHigh"}

// limitsOf returns the limits of a PV. A limit that the PV does not have is not finite.
func limitsOf(m *sample.Metadata) [8]float64 {
	return [8]float64{m.DisplayLow, m.DisplayHigh, m.WarnLow, m.WarnHigh, m.AlarmLow, m.AlarmHigh, m.ControlLow, m.ControlHigh}
}

func isLimit(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// snapshotColumns returns the columns of a snapshot, whose values have a type: those of a long table,
// in which a PV without a sample has null, the limits, and why the PV has no data.
func snapshotColumns(values table.Type) []table.Column {
	columns := table.LongColumns(values)
	for i := range columns[1:] {
		columns[i+1].Nulls = true
	}
	for _, name := range limitNames {
		columns = append(columns, table.Column{Name: name, Type: table.Float, Nulls: true})
	}
	return append(columns, table.Column{Name: "noData", Type: table.Word, Nulls: true})
}

// writeSnapshotTable writes what is known about PVs at a time, as a table. It reads the PVs twice: the
// types of their samples decide the type of the column of values.
func (h *Handler) writeSnapshotTable(ctx context.Context, b *body, format table.Format, pvs []string, at int64) error {
	var types []sample.Type
	err := h.eachMoment(ctx, b, pvs, at, func(_ string, m *moment) error {
		if m.Run != nil {
			types = append(types, m.Run.Type)
		}
		return nil
	})
	if err != nil {
		return err
	}
	notes := []table.Note{{Key: "at", Value: clock(at)}}
	if until, lags := b.CompleteUntil(); lags {
		notes = append(notes, table.Note{Key: "completeUntil", Value: stream.Until(until)})
	}
	w, err := table.NewWriter(format, b, &table.Schema{Columns: snapshotColumns(table.ValueType(types)), Notes: notes, Origin: h.Origin})
	if err != nil {
		return err
	}
	rows, lost := table.NewLong(w), uint64(0)
	if err := h.eachMoment(ctx, b, pvs, at, func(pv string, m *moment) error {
		lost += m.Lost
		return appendMoment(w, rows, pv, m)
	}); err != nil {
		return err
	}
	return b.closeTable(w, lost)
}

// appendMoment appends the row of a PV.
func appendMoment(w *table.Writer, rows *table.Long, pv string, m *moment) error {
	c := w.Batch.Columns
	limits := c[len(c)-1-len(limitNames) : len(c)-1]
	for i, v := range limitsOf(&m.meta) {
		if m.known && isLimit(v) {
			limits[i].AppendFloat(v)
		} else {
			limits[i].AppendNull()
		}
	}
	if reason := &c[len(c)-1]; m.cause == nil {
		reason.AppendNull()
	} else {
		reason.AppendWord(m.cause.Cause, 1)
	}
	if m.Run != nil { // this also writes the batch if it is full
		return rows.Append(pv, &table.Description{Units: m.meta.Units, Labels: m.meta.Labels}, m.Run)
	}
	c[0].AppendWord(pv, 1)
	for i := 1; i < len(c)-1-len(limitNames); i++ {
		c[i].AppendNull()
	}
	return w.FlushFull()
}
