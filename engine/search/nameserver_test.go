package search

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// nameServerCircuit is a circuit to a name server. The server accepts or refuses the connection
// at once.
type nameServerCircuit struct {
	up, pinned bool
	done       chan struct{}
}

func (n *nameServerCircuit) PinLocked()                  { n.pinned = true }
func (n *nameServerCircuit) AcceptsSearchesLocked() bool { return n.up }
func (n *nameServerCircuit) SendSearches([]Batch)        {}
func (n *nameServerCircuit) Done() <-chan struct{}       { return n.done }
func (n *nameServerCircuit) End() (bool, error)          { return n.up, errors.New("it ended") }

func TestNameServerIsConnectedToAgainAndItsAddressesTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := &fakeResolver{of: map[string][]netip.Addr{}}
		var mu sync.Mutex
		var tried []string
		var last *nameServerCircuit
		var up bool
		hastened := 0
		list, err := NewNameServers([]string{"ns"}, NameServerConfig{
			Mu: &mu, Port: 5, Resolve: hosts.resolve, Hasten: func() { hastened++ },
			Circuit: func(at netip.AddrPort) (NameCircuit, bool) {
				tried = append(tried, at.String())
				last = &nameServerCircuit{up: up, done: make(chan struct{})}
				if !up {
					close(last.done)
				}
				return last, true
			},
			Log: slog.New(slog.DiscardHandler), LookUpErrors: counter(),
		})
		if err != nil {
			t.Fatal(err)
		}
		after := func(d time.Duration, change func()) []string {
			time.Sleep(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			change()
			return slices.Clone(tried)
		}
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		list.Start(ctx, wg.Go)
		after(time.Minute, func() {})
		if n := count(list.LookUpErrors); n < 12 || n > 30 {
			t.Errorf("%v look-ups in a minute", n)
		}
		hosts.set("ns", "10.0.0.1", "10.0.0.2")
		got := after(2*MaxDelay, func() {
			if up = true; hastened > 0 || len(list.ReadyLocked()) > 0 {
				t.Errorf("hastened %d times, %d ready", hastened, len(list.ReadyLocked()))
			}
		})
		if len(got) < 2 || got[0] != "10.0.0.1:5" || got[1] != "10.0.0.2:5" {
			t.Errorf("tried %v", got)
		}
		before := len(after(2*MaxDelay, func() {
			if !last.pinned || len(list.ReadyLocked()) != 1 || hastened != 1 {
				t.Errorf("pinned %v, %d ready, hastened %d times", last.pinned, len(list.ReadyLocked()), hastened)
			}
		}))
		if n := len(after(time.Hour, func() { close(last.done) })) - before; n > 0 {
			t.Errorf("%d more circuits beside one that is up", n)
		}
		if n := len(after(time.Minute, func() {})) - before; n != 1 {
			t.Errorf("%d circuits after the one that ended", n)
		}
		cancel()
		after(0, func() { close(last.done) }) // circuits end when their client is closed
		wg.Wait()
	})
}
