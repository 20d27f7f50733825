package migration

import (
	"cmp"
	"context"
	"sync"
)

// account counts what becomes of the samples of a PV in an archive with engines.
type account struct {
	pv string
	to *journaled

	mu                       sync.Mutex
	waiting                  int // segments with samples of the PV
	stored, expired, deleted uint64
	err                      error
	done                     func() // called once, when all samples have been read and sealed; nil before they have been read
}

func newAccount(pv string, to *journaled) *account { return &account{pv: pv, to: to} }

// begin notes that a segment has samples of the PV.
func (a *account) begin() {
	a.mu.Lock()
	a.waiting++
	a.mu.Unlock()
}

// settle notes what became of the samples of a segment.
func (a *account) settle(e *outcome) {
	a.mu.Lock()
	a.waiting--
	a.stored, a.expired, a.deleted = a.stored+e.stored, a.expired+e.expired, a.deleted+e.deleted
	a.err = cmp.Or(a.err, e.err)
	a.mu.Unlock()
	a.tryToFinish(nil)
}

// finish notes that all samples were read. done is called when they are sealed, or when the import ends before.
func (a *account) finish(done func()) {
	a.to.mu.Lock()
	a.to.accounts[a] = true // before another goroutine can call done, and remove it
	a.to.mu.Unlock()
	a.mu.Lock()
	a.done = done
	a.mu.Unlock()
	a.tryToFinish(context.Cause(a.to.ctx)) // after the end, nobody else calls it
}

// tryToFinish calls done if nothing waits any longer, or if the import has ended with an error.
func (a *account) tryToFinish(err error) {
	a.mu.Lock()
	done := a.done
	if a.waiting > 0 && err == nil {
		done = nil
	}
	if done != nil {
		a.done = nil
		if a.waiting > 0 {
			a.err = cmp.Or(a.err, err)
		}
	}
	a.mu.Unlock()
	if done == nil {
		return
	}
	done()
	a.to.mu.Lock()
	delete(a.to.accounts, a)
	a.to.notify()
	a.to.mu.Unlock()
}

// abandon ends all accounts that wait, with an error.
func (j *journaled) abandon(err error) {
	j.mu.Lock()
	var all []*account
	for a := range j.accounts {
		all = append(all, a)
	}
	j.mu.Unlock()
	for _, a := range all {
		a.tryToFinish(err)
	}
}
