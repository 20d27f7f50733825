package schema

import "time"

// Hasten shortens the time that Replicate waits for nodes to settle.
func (r Replication) Hasten(settle time.Duration) Replication {
	r.settle = settle
	return r
}

// Unrepaired makes Replicate skip the repairs, so that readers may miss samples.
func (r Replication) Unrepaired() Replication {
	r.unrepaired = true
	return r
}
