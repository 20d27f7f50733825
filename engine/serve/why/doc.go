// Package why says why a PV has no samples, or that it has them, and shows the steps on the way of a sample:
//
//	          ┌──▶ causes, in order: the first one that applies ──▶ Answer: cause, text, advice
//	Facts ────┤
//	          └──▶ steps: group ▶ search ▶ connect ▶ receive ▶ filter ▶ journal ▶ store ▶ retention ▶ read
//
// Facts are what the archive knows of a PV at a time. They also say what could not be asked. A cause is named only if the facts
// that decide it are known: otherwise the cause is absence.Unknown. Everything here is pure.
package why
