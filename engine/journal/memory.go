package journal

import "sync/atomic"

// Memory counts the bytes that all heads of an engine take, the bytes of large rows on their way
// to the store, and what others add.
type Memory struct {
	limit int64
	used  atomic.Int64
	// turns holds an entry for each shard journal that has a large row under way, because
	// such a row takes several times the memory of its value.
	turns chan struct{}
}

// maxLargeRows is how many large rows may be under way at the same time.
const maxLargeRows = 4

// NewMemory returns an account with a limit in bytes.
func NewMemory(limit int64) *Memory {
	return &Memory{limit: limit, turns: make(chan struct{}, maxLargeRows)}
}

// Used returns the bytes in use, as of the last flush of each head.
func (m *Memory) Used() int64 { return m.used.Load() }

// Limit returns the bytes allowed.
func (m *Memory) Limit() int64 { return m.limit }

// Add counts n more bytes, or fewer if n is negative.
func (m *Memory) Add(n int64) { m.add(n) }

func (m *Memory) add(n int64) { m.used.Add(n) }

func (m *Memory) fits(n int) bool { return m.used.Load()+int64(n) <= m.limit }

// isShort reports whether little room is left.
func (m *Memory) isShort() bool { return m.used.Load() > m.limit/8*7 }

// excess returns the fraction of the bytes in use that is above the limit.
func (m *Memory) excess() float64 {
	used := m.used.Load()
	if used <= m.limit {
		return 0
	}
	return float64(used-m.limit) / float64(used)
}
