// Package lapse lets time go by in tests that run under synctest's clock.
//
//	test ──Of(1 s)──▶ clock + 1 s ──▶ everything that is due then has been done ──▶ test looks
//
// After a time.Sleep alone, a test and a ticker that is due at the same instant run in
// any order.
package lapse

import (
	"testing/synctest"
	"time"
)

// Of lets d go by, and waits until all that is due by then has been done. Only the
// goroutine of a test calls it, in a bubble.
func Of(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
