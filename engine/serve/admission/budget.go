package admission

import "sync/atomic"

// Budget is memory that requests share.
type Budget struct {
	limit int64
	taken atomic.Int64
}

// NewBudget returns a budget of a number of bytes.
func NewBudget(bytes int64) *Budget { return &Budget{limit: bytes} }

// Limit returns the number of bytes in the budget.
func (b *Budget) Limit() int64 { return b.limit }

// Take takes bytes from the budget, unless it has too few left. The caller must give them back.
func (b *Budget) Take(bytes int64) bool {
	if b.taken.Add(bytes) <= b.limit {
		return true
	}
	b.taken.Add(-bytes)
	return false
}

// Give gives bytes back.
func (b *Budget) Give(bytes int64) { b.taken.Add(-bytes) }
