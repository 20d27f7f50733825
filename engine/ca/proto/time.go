package proto

// EpicsEpoch is the start of EPICS time, 1990-01-01 UTC, in seconds since 1970.
const EpicsEpoch = 631152000

// UnixNanos converts an EPICS time stamp to nanoseconds since 1970. Faulty device support may
// send nanoseconds of a second or more. UnixNanos adds them to the time.
func UnixNanos(secs, nanos uint32) int64 {
	return (EpicsEpoch+int64(secs))*1e9 + int64(nanos)
}

// EpicsTime converts nanoseconds since 1970 to an EPICS time stamp. A time outside the 136
// years that a time stamp can represent becomes the first or last possible time stamp.
func EpicsTime(unixNanos int64) (secs, nanos uint32) {
	const (
		first = EpicsEpoch * int64(1e9)
		last  = (EpicsEpoch+1<<32)*int64(1e9) - 1
	)
	since := min(max(unixNanos, first), last) - first
	return uint32(since / 1e9), uint32(since % 1e9)
}
