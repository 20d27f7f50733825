// Package testclock advances the virtual clock of tests that run under synctest.
//
//	test ──Advance(1 s)──▶ clock + 1 s ──▶ everything due by then is done ──▶ test goes on
//
// time.Sleep alone is not enough: if a test and a ticker are due at the same instant, they run
// in any order.
package testclock

import (
	"testing/synctest"
	"time"
)

// Advance moves the clock by d, and returns when all work that is due by then is done. Only the
// test's own goroutine may call it, inside a synctest bubble.
func Advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
