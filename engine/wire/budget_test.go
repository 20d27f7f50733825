package wire

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// circuitOf is a circuit that draws from a Budget.
type circuitOf struct {
	*Account
	ending chan struct{}
	cause  error
}

func openCircuit(b *Budget) *circuitOf {
	c := &circuitOf{ending: make(chan struct{})}
	c.Account = b.Open(func(cause error) {
		c.cause = cause
		close(c.ending)
		c.Account.Close()
	}, c.ending)
	return c
}

func TestBufferGrowsWithTheBytesThatArrive(t *testing.T) {
	const frame = 16 << 20
	budget := NewBudget(4 * frame)
	b := NewBuffer(budget.Open(nil, nil))
	for arrived := 0; arrived < frame; {
		n := min(len(b.Free()), 50_000, frame-arrived)
		b.Filled(n)
		if arrived += n; arrived == frame {
			break
		}
		if _, err := b.Used(0, frame, Besides{}); err != nil {
			t.Fatal(err)
		}
		if len(b.buf) > max(2*arrived, minBuffer) {
			t.Fatalf("a buffer of %d bytes after %d bytes", len(b.buf), arrived)
		}
	}
	if len(b.buf) != frame {
		t.Errorf("a buffer of %d bytes for a frame of %d", len(b.buf), frame)
	}
}

func TestBufferOfLargeFramesIsKeptForAWhile(t *testing.T) {
	const frame = 1 << 20
	budget := NewBudget(4 * frame)
	b := NewBuffer(budget.Open(nil, nil))
	read := func(n, need int) {
		for left := n; left > 0; {
			got := min(left, len(b.Free()))
			b.Filled(got)
			used := 0
			if left -= got; left == 0 {
				used = b.filled
			}
			next := need
			if left > 0 {
				next = n
			}
			if _, err := b.Used(used, next, Besides{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	read(frame, 16)
	if len(b.buf) != frame {
		t.Errorf("a buffer of %d bytes after a frame of %d", len(b.buf), frame)
	}
	if n := testing.AllocsPerRun(10, func() { read(frame, 16) }); n > 0 {
		t.Errorf("%v allocations for each large frame", n)
	}
	for range keepReads {
		read(100, 16)
	}
	if len(b.buf) != maxBuffer || budget.Used() != maxBuffer-minBuffer {
		t.Errorf("a buffer of %d bytes after many small frames, %d counted", len(b.buf), budget.Used())
	}
	other := budget.Open(nil, nil)
	if _, err := other.Draw(3*frame, true); err != nil {
		t.Fatal(err)
	}
	read(100, 16)
	if len(b.buf) != minBuffer {
		t.Errorf("a buffer of %d bytes while others need memory", len(b.buf))
	}
}

func TestCircuitWaitsForMemoryUntilAnotherFreesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		large, small := openCircuit(b), openCircuit(b)
		draw(t, large, 80, 0)
		draw(t, small, 20, 0)
		go func() {
			time.Sleep(3 * time.Second)
			draw(t, large, 160, 0) // the largest frame may exceed the limit
			time.Sleep(3 * time.Second)
			draw(t, large, 0, 0)
		}()
		draw(t, small, 40, 6*time.Second)
		if large.cause != nil || small.cause != nil || b.Used() != 40 {
			t.Errorf("%d bytes are counted; %v, %v", b.Used(), large.cause, small.cause)
		}
	})
}

func TestLargestUnfinishedFrameEndsWhenNothingMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		idle, large, small := openCircuit(b), openCircuit(b), openCircuit(b)
		if _, err := idle.Draw(50, false); err != nil { // holds more, but not for a frame
			t.Fatal(err)
		}
		draw(t, large, 40, 0)
		draw(t, small, 10, 0)
		draw(t, small, 30, patience)
		if !errors.Is(large.cause, ErrHoarding) || idle.cause != nil || small.cause != nil {
			t.Errorf("causes: large %v, idle %v, small %v", large.cause, idle.cause, small.cause)
		}
	})
}

func TestFramesGetMemoryInTheOrderInWhichTheyBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		large, first, second := openCircuit(b), openCircuit(b), openCircuit(b)
		draw(t, large, 80, 0)
		draw(t, first, 10, 0)
		draw(t, second, 10, 0)
		var order []string
		for _, waiter := range []struct {
			name string
			*circuitOf
		}{{"second", second}, {"first", first}} {
			go func() {
				if _, err := waiter.Draw(40, true); err != nil {
					t.Error(err)
				}
				order = append(order, waiter.name)
			}()
			time.Sleep(time.Second)
		}
		draw(t, large, 50, 0) // room for one of them
		synctest.Wait()
		draw(t, large, 0, 0)
		synctest.Wait()
		if !slices.Equal(order, []string{"first", "second"}) {
			t.Errorf("memory went to %v", order)
		}
	})
}

func TestCircuitThatEndsWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		large, small := openCircuit(b), openCircuit(b)
		draw(t, large, 90, 0)
		draw(t, small, 10, 0)
		time.AfterFunc(time.Second, func() { close(small.ending) })
		if _, err := small.Draw(20, true); err == nil {
			t.Error("the circuit got memory that it may not have")
		}
		small.Close()
		large.Close()
		if b.Used() != 0 || len(b.accounts) > 0 {
			t.Errorf("%d bytes are counted for %d circuits that ended", b.Used(), len(b.accounts))
		}
	})
}

// draw makes a circuit hold n bytes, and checks how long it waits for them.
func draw(t *testing.T, c *circuitOf, n int, want time.Duration) {
	t.Helper()
	if waited, err := c.Draw(n, true); err != nil || waited != want {
		t.Errorf("drawing %d bytes took %v, want %v; %v", n, waited, want, err)
	}
}

// TestManyLargeFramesAllArrive lets many circuits receive frames at the same time that do not
// fit into the Budget together.
func TestManyLargeFramesAllArrive(t *testing.T) {
	const circuits, frame, limit = 50, 1 << 10, 4 << 10
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(limit)
		var most atomic.Int64
		done := make(chan error, circuits)
		for range circuits {
			go func() {
				c := openCircuit(b)
				for n := frame / 16; n <= frame; n *= 2 {
					if _, err := c.Draw(n, true); err != nil {
						done <- err
						return
					}
					for used := int64(b.Used()); used > most.Load(); {
						most.Store(used)
					}
					time.Sleep(time.Second)
				}
				c.Account.Close()
				done <- c.cause
			}()
		}
		for range circuits {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if m := most.Load(); m < limit || m > limit+frame {
			t.Errorf("%d bytes in use, with a limit of %d", m, limit)
		}
	})
}
