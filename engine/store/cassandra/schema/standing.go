package schema

// standing is the number of replicas of a keyspace and the notes about it: see
// docs/design/replication.md. If only settled is noted, all acknowledged rows are on a quorum
// of that number of replicas. If step is noted too, they are on a quorum of settled replicas
// or of step replicas. The two numbers differ by one.
type standing struct {
	present int // replicas, by the keyspace's replication
	nodes   int // of the datacenter, up or down

	settled, step int // notes; 0 if there is none
}

// deed is the next action of Replicate on a keyspace.
type deed int

const (
	nothing deed = iota
	alter        // change the number of replicas by one
	compare      // repair all replicas and note that they are equal
)

// next returns the action that brings a keyspace closer to the wanted number of replicas. For
// alter it also returns the number to set.
func (s standing) next(wanted int) (deed, int) {
	low, high := s.noted()
	switch {
	case s.present > s.nodes && wanted < s.present:
		return alter, s.present - 1 // every node holds every row, before and after
	case s.present < low || s.present > high:
		if s.present > 1 {
			return compare, 0 // another program changed the number
		} // one replica needs no repair
	case s.step != 0:
		// Changing between the two noted numbers is safe without a repair.
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

// noted returns the least and the greatest number of replicas with which rows may have been
// acknowledged. They are 0 if that is unknown.
func (s standing) noted() (low, high int) {
	switch {
	case s.settled == 0:
		return 0, 0
	case s.step == 0:
		return s.settled, s.settled
	}
	return min(s.settled, s.step), max(s.settled, s.step)
}

// noting returns the notes to write before a number of replicas is set.
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
