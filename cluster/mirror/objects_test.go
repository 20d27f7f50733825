package mirror

import (
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// TestSeenIsNoLaterThanTheChanges checks that the mirror does not claim to have all changes up to now while changes
// arrive that had waited: the next ones may be as old.
func TestSeenIsNoLaterThanTheChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewObjects[*v1alpha1.ArchiveShard](nil, nil, Select{}, func() {})
		r := reflected[*v1alpha1.ArchiveShard]{o}
		began := time.Now()
		seen := func(when string, want time.Duration) {
			t.Helper()
			if got := o.Seen().Sub(began); got != want {
				t.Errorf("%s: the mirror has all changes until %v, want %v", when, got, want)
			}
		}
		if !o.Seen().IsZero() {
			t.Error("before the first list, the mirror claims to have changes")
		}
		send := func() {
			t.Helper()
			if err := r.Bookmark(""); err != nil {
				t.Error(err)
			}
		}
		if err := r.Replace(nil, ""); err != nil {
			t.Error(err)
		}
		seen("at the first list", 0)
		time.Sleep(time.Minute)
		send()
		seen("when a change arrives", 0)
		time.Sleep(burst)
		seen("when no other change has arrived", time.Minute)
		time.Sleep(time.Minute) // the network is cut, and changes wait
		for range 20 {
			send()
			time.Sleep(100 * time.Millisecond)
			seen("while the changes that waited arrive", time.Minute)
		}
		time.Sleep(burst)
		seen("when they have arrived", 2*time.Minute+burst+1900*time.Millisecond)
		for range 600 { // a busy archive
			send()
			time.Sleep(100 * time.Millisecond)
			if late := time.Since(o.Seen()); late < burst || late > 2*burst+time.Second {
				t.Fatalf("while changes arrive all the time, the mirror has all until %v ago", late)
			}
		}
	})
}
