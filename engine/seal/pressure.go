package seal

import "math/rand/v2"

// isPressed reports whether too many samples wait in memory or in the journal. Above a quarter
// of the memory limit it returns true at random, for one call in 16. Otherwise all shards of
// an engine could encode at the same time and leave no processor time for capture.
func (s *Shard) isPressed() bool {
	const oneOf = 16
	return s.isShortOfMemory() || s.shardJournal.Written()-s.written.Load() > journalBytes ||
		s.cfg.Memory.Used() > s.cfg.Memory.Limit()/4 && rand.N(oneOf) == 0
}

// isOverloaded reports whether samples arrive faster than they are sealed. In this case
// rollups wait, and readers compute them.
func (s *Shard) isOverloaded() bool { return s.cfg.Memory.Used() > s.cfg.Memory.Limit()/4*3 }

func (s *Shard) isShortOfMemory() bool { return s.cfg.Memory.Used() > s.cfg.Memory.Limit()/2 }
