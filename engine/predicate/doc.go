// Package predicate finds the times at which a condition on PVs holds, and the samples of other PVs
// in these times:
//
//	"SR:I > 0.5 and not severity(SR:P) = INVALID"
//	     │ Parse
//	     ▼
//	 Predicate ── Bind: types, labels ──▶ Search ── Intervals ──▶ [from, to) true, false, unknown
//	                                        │                         │
//	   rollups: minimum and maximum ──▶ windows ── undecided ──▶ samples of the PVs in the condition
//
// # Language
//
//	expression = term { "or" term }
//	term       = factor { "and" factor }
//	factor     = "not" factor | "(" expression ")" | condition
//	condition  = PV operator constant | PV "between" constant "and" constant
//	           | "severity" "(" PV ")" operator ( NO_ALARM | MINOR | MAJOR | INVALID )
//	operator   = "<" | "<=" | ">" | ">=" | "=" | "==" | "!="
//	constant   = number | 'text'
//
// Keywords may be in upper or lower case. The name of a PV may be in double quotes, and must be if
// it has spaces, parentheses, quotes, or one of < > = !, or if it reads like a number or a keyword.
// A text is compared with the label of an enumeration's state, or with a string, by = and !=. An
// enumeration is also compared as the number of its state. between includes both ends.
//
// # Values
//
// The value of a PV at a time is its last sample at or before it. If several samples have one time,
// it is the one that rollups take. A condition is unknown
//
//   - before the first sample of the PV, and where it has expired or is in a damaged block,
//   - in gaps (query.Reader.Unknowns), and after a loss until the next sample,
//   - after the time until which the samples of an engine that lags are complete,
//   - if the value is NaN, undefined (UDF), or of a type that cannot be compared with the constant.
//
// A severity can be compared even if the value is NaN or undefined. and, or and not follow the logic
// of three values: "false and unknown" is false, "true or unknown" is true, "not unknown" is
// unknown.
//
// # Skipping
//
// A search divides the range in about a thousand windows. In each one, the bins of the PVs' rollups
// bound their values, so that the condition has a set of possible results. If there is only one, the
// window is decided, and no sample of it is read. This is exact: the minimum and the maximum of a
// bin include the value that was held when it began, and a bin in which the PV had no finite value
// at times, or values of several kinds, bounds nothing. If no rollup is fine enough, all samples are
// read. A window that rollups decide has a result even if its samples have expired.
//
// A search holds the decoded blocks of the PVs at one moment, a bin of each, and the gaps of the
// range, up to a limit.
package predicate
