// Package change finds out how much the behaviour of a PV has changed in a window of time. It is
// pure:
//
//	bins of the windows ──Comparison.Add──▶ a summary of each window ──Result──▶ score, reasons
//
//	│ history │ history │ … │ before │ window │      all are equally long
//
// Each feature of a PV (its mean, spread, rate, alarms, states, texts, gaps) is compared between the
// window and the window before. The change is divided by what is normal for the PV: the largest
// change between two neighbouring earlier windows, or a floor if that is larger. A PV that wanders,
// or follows the time of day, thus scores low, and so does noise. The score is the binary logarithm of
// 1 plus that ratio: 1 means as large as the largest normal change, and each further point means about
// twice as much. A change of numbers or texts that rests on n samples counts n/(n+2) of that.
package change
