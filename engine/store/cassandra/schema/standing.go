package schema

// standing is how many replicas a keyspace has, and what is noted of it: see
// docs/design/replication.md. While settled is noted alone, all that was acknowledged
// is on a quorum of so many replicas. With step as well, it is on a quorum of the one
// number of replicas or of the other, which is one more or less.
type standing struct {
	present int // in force
	nodes   int // that the datacenter has, up or not

	settled, step int // notes; 0: there is none
}

// deed is what Replicate does to a keyspace next.
type deed int

const (
	nothing deed = iota
	alter        // change how many replicas it has, by one
	compare      // repair all replicas that it has, and note that
)

// next returns what brings a keyspace closer to a number of replicas, and with alter
// the number to set.
func (s standing) next(wanted int) (deed, int) {
	low, high := s.noted()
	switch {
	case s.present > s.nodes && wanted < s.present:
		return alter, s.present - 1 // each node has all, now and then
	case s.present < low || s.present > high:
		if s.present > 1 {
			return compare, 0 // somebody else has changed it
		} // else one replica is whole by itself
	case s.step != 0:
		// To and fro between the two is safe without a repair.
		if to := min(max(wanted, low), high); to != s.present {
			return alter, to
		}
		return compare, 0
	}
	switch {
	case wanted > s.present:
		return alter, s.present + 1
	case wanted < s.present:
		return alter, s.present - 1
	}
	return nothing, 0
}

// noted returns the numbers of replicas that all that was acknowledged may have been
// acknowledged with, 0 if nobody knows.
func (s standing) noted() (low, high int) {
	switch {
	case s.settled == 0:
		return 0, 0
	case s.step == 0:
		return s.settled, s.settled
	}
	return min(s.settled, s.step), max(s.settled, s.step)
}

// noting returns the notes to make before so many replicas are set.
func (s standing) noting(to int) (settled, step int) {
	low, high := s.noted()
	known := low <= s.present && s.present <= high
	switch {
	case !known && s.present == 1:
		return 1, to
	case !known:
		return 0, 0
	case low <= to && to <= high:
		return s.settled, s.step
	}
	return s.settled, to
}
