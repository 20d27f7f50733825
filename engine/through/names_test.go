package through

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/upstream"
	"varve.dev/varve/test/testclock"
)

// TestNamesAreReadAgainBehindRequests makes the second reading of the list slow. Requests get the last list meanwhile.
func TestNamesAreReadAgainBehindRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, release := 0, make(chan struct{})
		a := newScripted(t, &scripted{names: func(ctx context.Context, add func(string)) error {
			if read++; read == 2 {
				<-release
			}
			add(fmt.Sprintf("LIST:%d", read))
			return nil
		}})
		defer a.Close()
		expect := func(want string) {
			t.Helper()
			if got, err := a.names(t.Context()); err != nil || strings.Join(got, " ") != want {
				t.Errorf("names %q, %v; want %q", got, err, want)
			}
		}
		expect("LIST:1")
		testclock.Advance(listFresh)
		begun := time.Now()
		for range 3 {
			expect("LIST:1")
		}
		synctest.Wait()
		if waited := time.Since(begun); waited != 0 || read != 2 {
			t.Errorf("3 requests waited %v, and read the list %d times; want 0 s, and one more reading", waited, read-1)
		}
		close(release)
		synctest.Wait()
		expect("LIST:2")
	})
}

// TestOldNamesAreReadAgainFirst lets the list become old. A request then waits for the new one, but not for long.
func TestOldNamesAreReadAgainFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, slow := 0, false
		a := newScripted(t, &scripted{names: func(ctx context.Context, add func(string)) error {
			read++
			if slow {
				return silent(ctx)
			}
			add(fmt.Sprintf("LIST:%d", read))
			return nil
		}})
		defer a.Close()
		expect := func(want string, wait time.Duration) {
			t.Helper()
			begun := time.Now()
			got, err := a.names(t.Context())
			if waited := time.Since(begun); err != nil || strings.Join(got, " ") != want || waited != wait {
				t.Errorf("names %q, %v after %v; want %q after %v", got, err, waited, want, wait)
			}
		}
		expect("LIST:1", 0)
		testclock.Advance(listOld)
		expect("LIST:2", 0)
		slow = true
		testclock.Advance(listOld)
		expect("LIST:2", listWait)
	})
}

// TestFirstListIsAwaitedForAShortTime asks an older archive that never ends its list.
func TestFirstListIsAwaitedForAShortTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newScripted(t, &scripted{names: func(ctx context.Context, _ func(string)) error { return silent(ctx) }})
		defer a.Close()
		begun := time.Now()
		_, err := a.names(t.Context())
		var older *query.OlderError
		if waited := time.Since(begun); waited != listWait || !errors.As(err, &older) || older.After == 0 || !errors.Is(err, errBusy) {
			t.Errorf("after %v: %v; want an error after %v that says when to try again", waited, err, listWait)
		}
		testclock.Advance(listTime)
		if w := a.Problems(); len(w) != 1 || !strings.Contains(w[0], "took too long") {
			t.Errorf("warnings %q; the reading must have ended", w)
		}
		if _, err := a.names(t.Context()); !errors.Is(err, errLate) {
			t.Errorf("after the reading: %v", err)
		}
	})
}

// TestCloseEndsReadings closes an Archive while readers wait.
func TestCloseEndsReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{names: func(ctx context.Context, _ func(string)) error { return silent(ctx) }}
		a := newScripted(t, s)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := a.names(t.Context()); !errors.Is(err, context.Canceled) {
				t.Errorf("a waiting request: %v", err)
			}
		})
		synctest.Wait()
		a.Close()
		wg.Wait()
		if _, err := a.outside(t.Context(), "A:B"); !errors.Is(err, errClosed) {
			t.Errorf("a PV after Close: %v", err)
		}
	})
}

// TestChainsGetNoOldNames checks that an archive that reads through to this one gets an error instead of an old list,
// which it would take for a fresh one. Anybody can send the header that such an archive sends. So a failure of a request
// with this header must not make other requests fail.
func TestChainsGetNoOldNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := 0
		var fails error
		a := newScripted(t, &scripted{names: func(_ context.Context, add func(string)) error {
			read++
			add("A:B")
			return fails
		}})
		defer a.Close()
		if got, err := a.names(ofChain(t.Context())); err != nil || len(got) != 1 {
			t.Errorf("a fresh list for a chain: %q, %v", got, err)
		}
		testclock.Advance(listFresh)
		fails = &upstream.StatusError{Code: http.StatusLoopDetected}
		for n := range 2 {
			if got, err := a.names(ofChain(t.Context())); err == nil || read != n+2 {
				t.Errorf("an old list for a chain: %q after %d readings; want an error, and a reading for each request", got, read)
			}
		}
		if w := a.Problems(); len(w) > 0 {
			t.Errorf("warnings %q after what a client can cause", w)
		}
		if got, err := a.names(t.Context()); err != nil || len(got) != 1 {
			t.Errorf("an old list for a client: %q, %v", got, err)
		}
		synctest.Wait()
		if read != 4 || len(a.Problems()) != 1 {
			t.Errorf("%d readings, warnings %q; want 4, one of them for the client, and its warning", read, a.Problems())
		}
	})
}

// TestLongListsSayHowToRaiseTheLimit sends more names than allowed, and longer ones.
func TestLongListsSayHowToRaiseTheLimit(t *testing.T) {
	for answer, want := range map[string]string{
		`["A","B","C","D"]`: "more than 3 names",
		`["A","` + strings.Repeat("x", 200) + `","` + strings.Repeat("y", 200) + `"]`: "more than 384 bytes",
	} {
		p := newPeer(t, Config{MaxNames: 3}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
		_, err := p.names(t.Context())
		if !errors.Is(err, upstream.ErrLongList) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--read-through-names") {
			t.Errorf("%v; want %s", err, want)
		}
	}
	p := newPeer(t, Config{MaxNames: 3}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `["A","B","C"]`) })
	if got, err := p.names(t.Context()); err != nil || len(got) != 3 {
		t.Errorf("a list within the limit: %q, %v", got, err)
	}
}

// BenchmarkMemoryOfNames measures the memory of a list of 100,000 names of 33 characters.
func BenchmarkMemoryOfNames(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		s := &scripted{names: func(_ context.Context, add func(string)) error {
			for i := range n {
				add(fmt.Sprintf("SR%02d-VA:PRESSURE-%08d:VALUE-X", i%40, i))
			}
			return nil
		}}
		a := &Archive{reads: s, cfg: Config{Now: time.Now}, owner: newOwner()}
		a.list.turn = make(chan struct{}, 1)
		before, after := heap(), uint64(0)
		if _, err := a.names(b.Context()); err != nil {
			b.Fatal(err)
		}
		after = heap()
		b.ReportMetric(float64(after-before)/n, "bytes/name")
		a.owner.close()
		runtime.KeepAlive(a)
	}
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
