package search

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestProbesSlowDown(t *testing.T) {
	for gone, want := range map[time.Duration]time.Duration{
		0: 200 * time.Millisecond, 16 * time.Second: time.Second, time.Minute: 2 * time.Second,
		2 * time.Minute: 2 * time.Second, 6400 * time.Millisecond: 400 * time.Millisecond,
		5 * time.Minute: 300 * time.Second / 64, 24 * time.Hour: 15 * time.Second,
	} {
		if got := probeDelay(gone); got != want {
			t.Errorf("down for %v: a probe every %v, want %v", gone, got, want)
		}
	}
}

// fakeServer is a server that can be down, with its circuit.
type fakeServer struct {
	mu        sync.Mutex
	wg        sync.WaitGroup
	dials     int
	back      bool
	circuit   *returnedCircuit
	requested []int // number of names in each step
	prober    *Prober
	has       bool // the server has the channels of the requested names
}

// returnedCircuit is the circuit to a server that came back.
type returnedCircuit struct {
	*fakeServer
	done chan struct{}
	idle bool
}

func (v *returnedCircuit) Ready() bool           { return true }
func (v *returnedCircuit) Done() <-chan struct{} { return v.done }
func (v *returnedCircuit) Idle() bool            { return v.idle }

func (v *returnedCircuit) RequestLost(names []*Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requested = append(v.requested, len(names))
	for _, e := range names {
		if !e.LostAt(homeAddr) {
			panic("BUG: requested a name that is not lost")
		}
		if v.has {
			v.prober.RemoveLocked(e)
		}
	}
}

func (v *returnedCircuit) EndIfIdle() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.has {
		v.endLocked(true)
	}
}

// endLocked ends the circuit.
func (h *fakeServer) endLocked(idle bool) {
	h.circuit.idle = idle
	close(h.circuit.done)
	h.circuit = nil
}

var homeAddr = netip.MustParseAddrPort("10.0.0.1:5")

// newFakeServer returns a server that is down. The client has lost n names at the server.
func newFakeServer(ctx context.Context, n int) *fakeServer {
	h := &fakeServer{}
	h.prober = NewProber(ctx, ProberConfig{
		Mu: &h.mu, Go: h.wg.Go, Penalties: Penalties{}, Probes: counter(),
		Dial: func(context.Context, string, string) (net.Conn, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.dials++
			if !h.back {
				return nil, errors.New("connection refused")
			}
			ours, theirs := net.Pipe()
			_ = theirs.Close()
			return ours, nil
		},
		Circuit: func(netip.AddrPort) (Circuit, bool) { return h.circuit, h.circuit != nil },
		Connected: func(_ netip.AddrPort, conn net.Conn) {
			_ = conn.Close()
			h.circuit = &returnedCircuit{fakeServer: h, done: make(chan struct{})}
		},
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for range n {
		h.prober.AddLocked(&Entry{Home: homeAddr})
	}
	return h
}

// after changes the server after a time d, and returns how often the prober has dialled the
// server until then.
func (h *fakeServer) after(d time.Duration, change func()) (dials int) {
	time.Sleep(d)
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	return h.dials
}

func TestChannelsOfAServerThatComesBackAreRequestedInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeServer(t.Context(), 1000)
		if dials := h.after(time.Minute, func() { h.back, h.has = true, true }); dials < 40 || dials > 110 {
			t.Errorf("%d probes in a minute", dials)
		}
		h.after(idleTimeout+5*time.Second, func() {
			if len(h.requested) != 3 || h.requested[0] != requestNames || h.prober.LenLocked() > 0 {
				t.Errorf("requested %v names, %d lost servers are left", h.requested, h.prober.LenLocked())
			}
		})
	})
}

func TestChannelsThatAreLostAfterTheServerCameBackAreRequestedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeServer(t.Context(), 10)
		late := &Entry{Home: homeAddr}
		h.after(time.Minute, func() { h.back = true })
		h.after(5*time.Second, func() { h.prober.AddLocked(late) })
		h.after(time.Second, func() {
			if !slices.Equal(h.requested, []int{10, 1}) {
				t.Errorf("requested %v names, want 10 and the late one", h.requested)
			}
			// The server refuses the channel.
			h.prober.RemoveLocked(late)
			h.prober.AddLocked(late)
		})
		h.after(time.Second, func() {
			if len(h.requested) != 2 {
				t.Errorf("requested %v names, want no request after the refusal", h.requested)
			}
		})
	})
}

func TestServerThatComesBackWithoutTheNamesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeServer(t.Context(), 10)
		h.after(time.Minute, func() { h.back = true })
		before := h.after(idleTimeout+5*time.Second, func() {
			if h.prober.LenLocked() > 0 || h.circuit != nil {
				t.Errorf("%d lost servers, circuit %v", h.prober.LenLocked(), h.circuit)
			}
		})
		if after := h.after(time.Hour, func() {}); after != before {
			t.Errorf("%d more probes", after-before)
		}
	})
}

func TestServerThatIsLostAgainIsProbedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := newFakeServer(ctx, 10)
		h.after(time.Minute, func() { h.back = true })
		before := h.after(5*time.Second, func() {
			h.back = false
			h.endLocked(false)
		})
		if after := h.after(time.Minute, cancel); after-before < 40 {
			t.Errorf("%d more probes", after-before)
		}
		h.wg.Wait()
	})
}
