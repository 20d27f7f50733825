package cassandra

import "time"

// Hasten sets two bounds to values that are shorter than in production: the shortest TTL, and
// how much longer the parts and notes of a row live than the row.
func (s *Store) Hasten(shortest, longer time.Duration) { s.shortestTTL, s.outlive = shortest, longer }
