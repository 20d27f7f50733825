package proto

// EpicsEpoch is the start of EPICS time, 1990-01-01 UTC, in seconds since 1970.
const EpicsEpoch = 631152000

// UnixNanos turns an EPICS time stamp into nanoseconds since 1970. Nanoseconds
// of a second or more, as broken device support sends them, carry over.
func UnixNanos(secs, nanos uint32) int64 {
	return (EpicsEpoch+int64(secs))*1e9 + int64(nanos)
}

// EpicsTime turns nanoseconds since 1970 into an EPICS time stamp. Times outside
// the 136 years that it can tell become its first or last one.
func EpicsTime(unixNanos int64) (secs, nanos uint32) {
	const (
		first = EpicsEpoch * int64(1e9)
		last  = (EpicsEpoch+1<<32)*int64(1e9) - 1
	)
	since := min(max(unixNanos, first), last) - first
	return uint32(since / 1e9), uint32(since % 1e9)
}
