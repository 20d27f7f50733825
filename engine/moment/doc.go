// Package moment parses points in time as people and clients write them. The command line and
// the HTTP APIs share it, so that one text means the same everywhere:
//
//	"-15m"  "yesterday"  "14:00"  "2026-03-01T08:00+01:00"  "1767225600" ──▶ Parser ──▶ time.Time
//	                                                                            └─▶ error: examples, and a hint
//
// The forms are:
//
//	now, today, yesterday         today and yesterday begin at midnight
//	-15m, -1h30m, -1w, -1mo, -1y  before now; +1h is after now; now-15m is the same as -15m
//	14:00, 14:00:30.5             that time of today
//	2026-03-01                    midnight
//	2026-03-01T08:00, also with seconds and a fraction, and with a space instead of T
//	1767225600.5                  seconds since 1970; with 12 to 14 digits milliseconds, with 15 to
//	                              17 microseconds, with 18 or 19 nanoseconds
//
// A time of day or a date may end in its zone: Z, an offset such as +01:00, +0100 or +01, or a
// space and a name of the IANA database such as Europe/Paris. The units of relative times are ms,
// s, m (or min), h, d, w, mo and y. A month and a year are those of the calendar, a day has 24
// hours.
package moment
