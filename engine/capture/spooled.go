package capture

// Settle counts samples of a PV that waited outside of heads: stored ones, and ones
// that were lost for want of room. A PV that is captured no more has no counts.
func (m *Manager) Settle(pv string, stored, lost uint64) {
	m.mu.RLock()
	c := m.channels[pv]
	m.mu.RUnlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	c.stored += stored
	c.shed += lost
	c.mu.Unlock()
}
