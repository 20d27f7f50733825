// Package sim says what a simulated IOC serves, and when: the names of PVs, their
// values, and the schedule of their updates. It knows no protocol.
//
//	name ── Set.Find ──▶ PV (kind, index) ─┐
//	                                       ├─ Value ─▶ value, alarm
//	clock ── Schedule ─▶ turn ─▶ tick ─────┘
//
// A value is a pure function of the kind, the index and the number of the update,
// the tick. The time stamp of an update tells its tick. So whoever receives it can
// compute what it should be, and sees what is missing.
package sim
