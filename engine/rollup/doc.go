// Package rollup computes rollups of the samples of a PV. It summarizes each interval in a Bin
// and packs the bins of a level into tiles, which a store keeps as rows.
//
//	runs, in order of time ──▶ Accumulator (one per level) ──▶ bins ──▶ Tile ──▶ Append ──▶ blob
//	                                 │                           ▲
//	                                 └ the held value continues   └ Join: wider bins, for readers
//
// # What a bin contains
//
// A PV holds a sample's value until the next sample. A bin therefore covers the samples in it
// and the value held at its start, unless a sample lies exactly there. Min, Max and Severity
// include both. Mean and Std weight each value by the time for which it was held, so Mean is
// never outside Min and Max. Count covers only samples. First is the first sample, or the held
// value if the bin has no sample. NaN, infinity, and a sample with severity INVALID and status
// UDF count as no value: the time until the next sample is not Covered. First and Last still
// return such a value.
//
// A bin has one Kind, that of its last sample: numbers, states of an enumeration, texts, or
// others (arrays, for example). If a PV's type changes to another kind, the bin summarizes
// only the samples after its last change, and Changed is set. Earlier samples are only
// counted. A change between numeric types has no effect.
//
// Bins without samples are not stored. Bin.Next computes them from the previous bin.
//
// # One set of samples, one bin
//
// A bin depends only on the set of samples, bit for bit. It does not matter which process or
// processor computed it, or in how many pieces. The accumulator adds up products in time order
// and never uses fused multiply-add. Among samples of equal time, it holds the one that sorts
// last by type, value and tag, because the order of arrival is not known everywhere.
//
// The integrals of v and v² are computed for v − r, where r is the first value that was held
// for any time in the bin. Let p be the fraction of the time during which r was held. The
// variance is then at least p(1−p) times the squared distance of the other values from r. In
// the worst case the sums therefore lose about 1/p of the precision of a float64, regardless of
// the size of r. For example, readings around 10⁹ that differ by 10⁻³ keep their Std. Mean and
// Std are then rounded to a millionth of Max − Min or finer. This halves the size of a tile and
// has no visible effect.
package rollup
