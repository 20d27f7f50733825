package cassandra

import "time"

// Hasten lets rows have less to live than is allowed: shortest at least, and what they
// cannot be read without only so much longer.
func (s *Store) Hasten(shortest, longer time.Duration) { s.shortestTTL, s.outlive = shortest, longer }
