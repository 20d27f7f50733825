// Package align joins the samples of many PVs in one table with a common grid of times:
//
//	PV A ── Read, Bins ──▶ column ─┐
//	PV B ── Read, Bins ──▶ column ─┼─▶ slab: some rows of all columns ──▶ consumer
//	PV C ── Read, Bins ──▶ column ─┘         └─ next slab
//
// The times of the grid are the multiples of the step, counted from 1970, in a range. No row is
// later than the present. The value of a PV in the row at t depends only on t, the step and the
// samples, and not on the range. So two adjacent ranges give the same rows as one.
//
//   - Last takes the last sample at or before t, however old it is. It may hold through a gap.
//   - Mean takes the time-weighted mean from t until the next row, as the bins of package query do:
//     the value from before t counts, and the last value counts as held until the next row. It comes
//     from rollups if their width divides the step. There is no value where the PV had none, or NaN,
//     all the time, and where samples have expired and the rollups are too coarse.
//   - Linear interpolates between the last sample at or before t and the first one after t. There is
//     no value if samples between the two are lost or may be missing because of a gap, if one of
//     them is NaN, infinite or undefined, or if no sample follows. A sample exactly at t is taken as
//     it is.
//
// A column has numbers (float64), states of an enumeration, or texts. The PV's type at the end of
// the range decides, so the columns of two adjacent ranges may differ. In times when the PV had a
// type of another kind, the column has no values. Arrays and structures are refused, and Mean and
// Linear refuse all but numbers.
//
// A table holds the values of one slab, and decodes a few PVs at a time. So its memory does not
// depend on the length of the range, and hardly on the number of PVs.
package align
