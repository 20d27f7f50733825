package clock

import "time"

const (
	// Widest bounds how far Begin and End of an unknown clock are from the clock. A wider mark would say
	// nothing, and the searches for conditions would leave out too many samples.
	Widest = 5 * time.Minute
	// itself is the kind of the clock's opinion about itself, which counts for bounds if the clock is right.
	itself = Servers + 1
)

// bounds returns the least and the greatest offset to add to the clock to get the time of samples, by
// opinions that agree with each other up to the limit. The clock itself, if it is right, and the servers of
// the store are exact: the time may be anything between what they say. IOCs and engines are less exact, so
// they only count if they contradict what counts more. The claims of engines have the times of clocks that
// may be wrong, too, so they only count without servers and IOCs.
func bounds(opinions []Opinion) (begin, end time.Duration) {
	some, better := false, false
	for k := itself; ; k-- {
		for i := range opinions {
			o := &opinions[i]
			from, to := o.Offset-o.Within, o.Offset+o.Within
			switch {
			case o.Kind != k:
			case !some:
				begin, end, some = from, to, true
			case k >= Servers || from > end || to < begin:
				begin, end = min(begin, from), max(end, to)
			}
			better = better || o.Kind == k && (k == Servers || k == IOCs)
		}
		if k == Earlier || k == IOCs && better {
			return begin, end
		}
	}
}
