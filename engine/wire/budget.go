package wire

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// patience is the time for which a circuit waits for memory while no other circuit gets or
// frees any. Then the circuit with the largest unfinished frame ends.
const patience = 5 * time.Second

var (
	// ErrHoarding is the cause with which a circuit ends so that others get its memory.
	ErrHoarding = errors.New("a frame did not end while other circuits waited for its memory")

	errEnding = errors.New("the circuit ended while it waited for memory")
)

// Budget is the memory that many circuits share for the frames that they receive. A circuit
// draws from it as the bytes of a frame arrive, and not when a frame announces its size. A
// circuit that gets no memory waits, so that its server has to wait, too. Other circuits go
// on:
//
//   - A circuit needs no memory of the Budget for its first minBuffer bytes.
//   - Frames get memory in the order in which they began to need it.
//   - The circuit with the largest unfinished frame may draw more than the limit. Thus one
//     frame always goes on, and frees its memory.
//   - If no circuit draws or frees memory for a while, this circuit ends.
//   - Memory that no frame needs, which only makes reading faster, is at most half of the limit.
type Budget struct {
	limit int
	used  atomic.Int64 // changes under mu

	mu       sync.Mutex
	accounts map[*Account]struct{}
	frames   uint64        // number of frames that needed memory
	waiting  int           // number of waiting circuits
	moved    time.Time     // when a circuit last drew or freed memory, or was ended, while others waited
	changed  chan struct{} // is closed and replaced when a waiting circuit may get memory
}

// NewBudget returns a Budget of a number of bytes.
func NewBudget(limit int) *Budget {
	return &Budget{limit: limit, accounts: map[*Account]struct{}{}, changed: make(chan struct{})}
}

// Used returns the number of bytes that all circuits hold.
func (b *Budget) Used() int { return int(b.used.Load()) }

// hasSpare reports whether there is memory that may be used to read faster.
func (b *Budget) hasSpare() bool { return b.used.Load() <= int64(b.limit/2) }

// Account is what one circuit holds of a Budget. Only the goroutine that reads from the circuit
// calls its methods.
type Account struct {
	budget *Budget
	ending <-chan struct{}
	end    func(cause error)

	// Budget.mu guards the following fields. The owner may read them without it.
	held       int
	unfinished bool   // a part of a frame has arrived
	frame      uint64 // number of this frame, or 0 if it has not needed memory yet
	waiting    bool
	ended      bool
}

// Open returns an account for a circuit. end ends the circuit, and ending is closed when it
// ends. The caller must call Close.
func (b *Budget) Open(end func(cause error), ending <-chan struct{}) *Account {
	a := &Account{budget: b, end: end, ending: ending}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accounts[a] = struct{}{}
	return a
}

// Close frees what the circuit holds.
func (a *Account) Close() {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setLocked(a, 0, false)
	delete(b.accounts, a)
}

// Draw sets the number of bytes that the circuit holds. It waits while the Budget has too few,
// and returns how long it waited. unfinished means that a part of a frame has arrived. Draw
// returns an error if the circuit ends.
func (a *Account) Draw(n int, unfinished bool) (waited time.Duration, err error) {
	if n == a.held && (n == 0 || unfinished == a.unfinished) {
		return 0, nil
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case n <= a.held:
		a.frame = 0
	case a.frame == 0:
		b.frames++
		a.frame = b.frames
	}
	if !b.fitsLocked(a, n) {
		b.setLocked(a, a.held, unfinished)
		if waited, err = b.waitLocked(a, n); err != nil {
			return 0, err
		}
	}
	b.setLocked(a, n, unfinished)
	return waited, nil
}

// waitLocked waits until a circuit may hold n bytes.
func (b *Budget) waitLocked(a *Account, n int) (time.Duration, error) {
	began := time.Now()
	if b.waiting++; b.waiting == 1 {
		b.moved = began
	}
	a.waiting = true
	defer func() {
		b.waiting--
		a.waiting = false
		b.wakeLocked() // it may be the turn of another circuit
	}()
	for !b.fitsLocked(a, n) {
		if err := b.awaitLocked(a.ending); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// awaitLocked waits until a circuit draws or frees memory. It releases the lock meanwhile. If
// no circuit does so for too long, one of the waiting circuits ends one.
func (b *Budget) awaitLocked(ending <-chan struct{}) error {
	changed, left := b.changed, patience-time.Since(b.moved)
	b.mu.Unlock()
	defer b.mu.Lock()
	late := time.NewTimer(left)
	defer late.Stop()
	select {
	case <-ending:
		return errEnding
	case <-changed:
	case <-late.C:
		b.endLargest()
	}
	return nil
}

// fitsLocked reports whether a circuit may hold n bytes.
func (b *Budget) fitsLocked(a *Account, n int) bool {
	room := int(b.used.Load())+n-a.held <= b.limit
	return n <= a.held || room && b.isNextLocked(a) || b.largestLocked(a) == a
}

// isNextLocked reports whether no circuit waits for a frame that began before that of a.
func (b *Budget) isNextLocked(a *Account) bool {
	if b.waiting == 0 {
		return true
	}
	for other := range b.accounts {
		if other.waiting && other.frame < a.frame {
			return false
		}
	}
	return true
}

// largestLocked returns the account that holds most for an unfinished frame. first wins over
// others that hold as much, and may be nil.
func (b *Budget) largestLocked(first *Account) *Account {
	for a := range b.accounts {
		if a.unfinished && !a.ended && (first == nil || a.held > first.held) {
			first = a
		}
	}
	return first
}

func (b *Budget) setLocked(a *Account, n int, unfinished bool) {
	if n != a.held && b.waiting > 0 {
		b.moved = time.Now()
		b.wakeLocked()
	}
	b.used.Add(int64(n - a.held))
	a.held, a.unfinished = n, unfinished
}

// wakeLocked makes all waiting circuits look again.
func (b *Budget) wakeLocked() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// endLargest ends the circuit that holds most for an unfinished frame, if nothing has moved
// for long.
func (b *Budget) endLargest() {
	if a := b.chooseLargest(); a != nil {
		a.end(ErrHoarding)
	}
}

// chooseLargest returns the account of the circuit to end, or nil.
func (b *Budget) chooseLargest() *Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.moved) < patience {
		return nil // another circuit was faster
	}
	b.moved = time.Now()
	a := b.largestLocked(nil)
	if a != nil {
		a.ended = true
	}
	return a
}
