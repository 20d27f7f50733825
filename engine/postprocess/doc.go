// Package postprocess has the post-processors of the EPICS Archiver Appliance: functions
// from the samples of a PV to fewer samples, or to others.
//
//	"mean_600(SR:U)" ──▶ ParseCall ──▶ Operator, SR:U
//
//	runs, by time ──▶ Operator.Apply ──▶ runs, by time
//	                    │
//	                    ├─ summary      a value for each bin: mean, median, stats, linear …
//	                    ├─ firstSample, lastSample, fill, nth   samples as they are
//	                    ├─ flyers, deadBand   the same, by their values
//	                    ├─ plotBins     four samples for each bin at most
//	                    ├─ optimized    all samples if they are few, or else stats
//	                    └─ ncount       one number
//
// # Semantics
//
// They are those of the Appliance (github.com/archiver-appliance), as its code has
// them, not only its documentation:
//
//   - A bin is the samples whose seconds since 1970 have the same quotient by the width.
//     Only samples in the range asked for are in a bin. The last one before the range,
//     which every read begins with, stands alone in the bin before the first.
//   - The statistic of a bin stands at the middle of the bin, and with the worst severity
//     in it. An empty bin repeats what the bin before has, up to the end of the range: a
//     count is 0 instead. The names that end in Sample, such as meanSample, leave empty
//     bins out.
//   - A NaN is in no statistic. A bin that has nothing else gives NaN, and a count of 0.
//   - An enumeration is the number of its state, an array its first element. Strings and
//     structures are no numbers: Accepts refuses them where numbers are needed. Apply
//     passes over them where the type of a PV changed on the way.
//
// What is different: samples of equal time all count, as the archive keeps them. A
// sample before the range is never taken for one of the first bin, and brings its
// severity. caplotbinning keeps nanoseconds. loess counts time from the start of the bin,
// where the Appliance loses digits to seconds since 1970.
//
// # Cost
//
// Work is done for stretches of a run that fall into one bin: such a stretch costs a
// pass to turn its values into numbers, and another one or two for the moments, which
// are joined to those of the bin (Chan, Golub and LeVeque; Pébay for the higher ones).
// No deviation is the difference of large sums.
//
// Memory is bounded by a bin: median, loess and flyers hold the samples of one, and
// optimized as many as were asked for. Where that is more than maxHeld bytes, or loess
// finds more than maxLoess samples, the answer ends with ErrBound.
package postprocess
