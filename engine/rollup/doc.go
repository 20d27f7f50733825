// Package rollup decimates the samples of a PV: it sums up those of a span of time in
// a Bin, and packs the bins of a level into tiles, which a store keeps as rows.
//
//	runs, in order of time ──▶ Accumulator (one per level) ──▶ bins ──▶ Tile ──▶ Append ──▶ blob
//	                                 │                           ▲
//	                                 └ what the PV holds goes on  └ Join: wider bins, for readers
//
// # What a bin tells
//
// A sample holds until the next one. So a bin is about the value that was held when it
// began, unless a sample stands exactly there, and about the samples in it: Min and Max
// are over both, Mean and Std weigh each value by the time for which it was held, and
// Severity is the worst of both; Count, and First if there is any, are of the samples
// alone. Mean is never outside of Min and Max for that reason. NaN, an infinity, and a
// sample with severity INVALID and status UDF are held as no value: the time until the
// next sample is not Covered. First and Last tell such a value all the same.
//
// A bin has one Kind, that of its last sample: numbers, states of an enumeration, texts,
// or others, as arrays are. Where a PV's type changes from one kind to another, the bin
// is about what follows its last change, and Changed; samples before that are counted,
// and no more. A change between types of numbers changes nothing.
//
// Bins without a sample are not stored. What they would be follows from the bin before
// (Bin.Next).
//
// # One set of samples, one bin
//
// A bin is a function of the set of samples, bit for bit, whoever computed it, in how
// many pieces, and on whatever processor: it adds up in order of time, product by
// product, and never fuses. Of samples of equal time the one that sorts last by type,
// value and tag holds; the order in which they arrived is not known to everybody.
//
// The integrals of v and v² are taken of v − r, where r is the first value of the bin
// that was held for any time. With p the part of the time for which it was, the
// variance is at least p(1−p) times the square of how far other values are from r, so
// the sums lose about 1/p of the precision of a float64 in the worst case, whatever the
// size of r: readings around 10⁹ that differ by 10⁻³ keep their Std. Mean and Std are
// then rounded to a millionth of Max − Min, or finer, which takes half off the bytes of
// a tile and nothing that can be seen.
package rollup
