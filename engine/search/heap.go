package search

// entries is a heap of entries by due time.
type entries []*Entry

// Len implements heap.Interface. The next two methods do so too.
func (q entries) Len() int           { return len(q) }
func (q entries) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q entries) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *entries) Push(x any) {
	e := x.(*Entry)
	e.index = len(*q)
	*q = append(*q, e)
}

// Pop implements heap.Interface.
func (q *entries) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
