// Package sim defines the contents of a simulated IOC: the names of PVs, their values, and the
// schedule of their updates. It does not depend on a protocol.
//
//	name ── Set.Find ──▶ PV (kind, index) ─┐
//	                                       ├─ Value ─▶ value, alarm
//	clock ── Schedule ─▶ turn ─▶ tick ─────┘
//
// A value is a pure function of the kind, the index and the number of the update, the tick.
// The time stamp of an update identifies its tick. A receiver can therefore compute the
// expected value, and detect missing updates.
package sim
