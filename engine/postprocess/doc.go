// Package postprocess implements the post-processors of the EPICS Archiver Appliance:
// functions that turn the samples of a PV into fewer samples, or into statistics.
//
//	"mean_600(SR:U)" ──▶ ParseCall ──▶ Func, SR:U
//
//	runs, by time ──▶ Func.Apply ──▶ runs, by time
//	                    │
//	                    ├─ summary      a value for each bin: mean, median, stats, linear …
//	                    ├─ firstSample, lastSample, fill, nth   stored samples, chosen by position
//	                    ├─ flyers, deadBand   stored samples, chosen by value
//	                    ├─ plotBins     at most four samples for each bin
//	                    ├─ optimized    all samples if they are few, otherwise stats
//	                    └─ ncount       one number
//
// # Semantics
//
// The post-processors follow the code of the Appliance (github.com/archiver-appliance), not only its
// documentation:
//
//   - A bin holds the samples whose seconds since 1970, divided by the width, round down
//     to the same number. A bin holds samples of the requested range only. The last
//     sample before the range, with which every read begins, is alone in the bin before
//     the first.
//   - The statistic of a bin has the time of the middle of the bin and the worst severity in
//     it. An empty bin repeats the result of the previous bin, up to the end of the range; a
//     count is 0 instead. Post-processors whose names end in Sample, such as meanSample, leave
//     out empty bins.
//   - Statistics ignore NaN. A bin with only NaN gives NaN, and a count of 0.
//   - A mean or a root mean square with an infinite number is infinite; a mean of +Inf and -Inf is
//     NaN. Statistics of the deviations from an infinite mean are NaN, as in IEEE 754 and NumPy, unless
//     the number is alone in its bin.
//   - An enumeration counts as the number of its state, and an array as its first element.
//     Strings and structures are not numbers: Accepts refuses them where numbers are needed.
//     Apply skips them where the type of a PV changed within the range.
//
// # Differences
//
// These results differ from those of the Appliance (its code of August 2026). Package test/clients compares all
// post-processors with a reference that was written from the documentation and the code of the Appliance:
//
//   - Samples of equal time all count, because the archive keeps them all.
//   - A sample before the range never counts in the first bin, and keeps its severity. In the
//     Appliance, some post-processors count it in the bin of its time.
//   - Times keep fractions of seconds. The Appliance cuts them off for caplotbinning, and for the
//     middle of a bin of firstFill and lastFill whose width is odd. linear and loess have there the
//     value at a time half a second before the middle.
//   - The Appliance sends only the last point at or before the start of the range. Apply yields all points.
//   - linear and loess leave out NaN, as the other statistics do. In the Appliance, a NaN beside the
//     middle of the bin makes linear NaN, and any NaN makes loess the first sample.
//   - loess counts time from the middle of the bin; the Appliance uses seconds since 1970 and loses
//     digits. It fits each line to the nearest samples, where Commons Math may lag behind a change
//     of the sample rate. If all of them are outliers, it takes the one in the middle, and not NaN.
//     If the bin has an infinite sample, the result is NaN, and not the first sample.
//   - A mean or a median beside an infinite number may be NaN in the Appliance, by the order of the samples.
//   - For flyers and ignoreflyers, infinite samples are flyers; the Appliance loses all samples of
//     their bin.
//   - In optimLastSample, an empty bin has the severity of the bin before it, and not of the bin after
//     it. If a range has more points than seconds, a bin has a second; the Appliance fails.
//   - After a gap, deadBand yields the first sample; the Appliance also yields the second one.
//   - A name must be exact, and the number of parameters must be right. The Appliance takes every
//     text that begins with the name of a post-processor, and ignores further parameters.
//   - rms is not registered in the Appliance, although its source has it.
//
// # Cost
//
// A post-processor works on segments: the samples of a run that fall into one bin. A
// segment costs one pass to turn its values into numbers, and one or two more for its
// moments, which are joined to those of the bin (Chan, Golub and LeVeque; Pébay for the
// higher moments). No deviation is computed as the difference of large sums.
//
// The memory is bounded: median, loess and flyers hold the samples of one bin, and optimized
// holds at most as many samples as are requested. The answer ends with ErrBound if the
// held samples have more than maxHeld bytes, or if loess finds more than maxLoess samples in a
// bin.
package postprocess
