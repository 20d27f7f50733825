package seal

// openShare is the part of the memory limit that the open blocks of all shards may take. Without a
// bound, an engine with very many slow PVs would hold more in open blocks than in samples.
const openShare = 4

// countOpen counts the open blocks of parts as memory. If the open blocks of the engine take too
// much, it closes those of parts. The next samples of these PVs open other blocks.
func (s *Shard) countOpen(parts []part) {
	for i := range parts {
		s.countBlock(s.series[parts[i].pv])
	}
	if s.cfg.open.Load() <= s.cfg.Memory.Limit()/openShare {
		return
	}
	for i := range parts {
		ser := s.series[parts[i].pv]
		ser.open = nil
		s.countBlock(ser)
	}
}

// countBlock counts the present size of the open block of a PV.
func (s *Shard) countBlock(ser *series) {
	size := int64(0)
	if ser.open != nil {
		size = int64(len(ser.open.Blob))
	}
	s.cfg.Memory.Add(size - ser.counted)
	s.cfg.open.Add(size - ser.counted)
	ser.counted = size
}

// dropOpen closes all open blocks. The sealer writes no more.
func (s *Shard) dropOpen() {
	for _, ser := range s.series {
		ser.open = nil
		s.countBlock(ser)
	}
}
