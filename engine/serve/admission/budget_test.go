package admission

import "testing"

// TestABudgetHasShares checks that a client gets no more than its share, and all clients no more than
// the budget, whatever they take, give back and move.
func TestABudgetHasShares(t *testing.T) {
	b := NewBudget(10, 4)
	take := func(client string, n int64, want bool) {
		t.Helper()
		if got := b.Take(client, n); got != want {
			t.Errorf("taking %d for %q: %t", n, client, got)
		}
	}
	take("a", 4, true)
	take("a", 1, false)
	take("b", 5, false)
	take("b", 4, true)
	take("c", 3, false) // only 2 are left
	take("c", 2, true)
	b.Give("a", 1)
	take("c", 1, true)
	if b.Move("b", "c", 2) {
		t.Error("moving gives a client more than its share")
	}
	if !b.Move("b", "c", 1) || !b.Move("b", "b", 3) {
		t.Error("a client with enough left of its share gets nothing")
	}
	b.Give("a", 3)
	b.Give("b", 3)
	b.Give("c", 4)
	take("", 10, true)
	b.Give("", 10)
	if len(b.clients) > 0 || b.taken != 0 {
		t.Errorf("the budget remembers %v, and %d", b.clients, b.taken)
	}
}
