package schema

import "time"

// Hasten has nodes settle in less time than they may take.
func (r Replication) Hasten(settle time.Duration) Replication {
	r.settle = settle
	return r
}

// Unrepaired makes the mistake of leaving the repairs out.
func (r Replication) Unrepaired() Replication {
	r.unrepaired = true
	return r
}
