package cassandra

import "time"

// Hasten sets shorter bounds than the package allows: the shortest TTL, and how much longer
// the parts and notes of a row live than the row.
func (s *Store) Hasten(shortest, longer time.Duration) { s.shortestTTL, s.outlive = shortest, longer }
