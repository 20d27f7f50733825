package cassandra

import "time"

// ErrTorn is that parts of a block are missing.
var ErrTorn = errTorn

// Hasten lets rows have less to live than is allowed: shortest at least, and what they
// can not be read without only so much longer.
func (s *Store) Hasten(shortest, longer time.Duration) { s.shortestTTL, s.outlive = shortest, longer }

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
