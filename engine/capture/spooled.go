package capture

// CountSpooled counts samples of a PV that left the spool: those that were stored, and
// those that were dropped because the spool was full. It ignores PVs that are no longer
// captured.
func (m *Manager) CountSpooled(pv string, stored, lost uint64) {
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
