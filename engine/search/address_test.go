package search

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func TestBroadcastAddress(t *testing.T) {
	for in, want := range map[string]string{
		"10.1.2.3/24": "10.1.2.255", "10.1.2.3/20": "10.1.15.255", "127.0.0.1/8": "127.0.0.1", "10.0.0.1/32": "10.0.0.1",
	} {
		if got := broadcastOf(netip.MustParsePrefix(in)); got.String() != want {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
}

func TestWrongAddressesAreRefused(t *testing.T) {
	for _, s := range []string{"", ":1", "host:", "host:0", "host:65536", "host:x", "239.1.1.1,8@eth0", "[::1]:5"} {
		if host, port, err := SplitAddress(s, 1); err == nil {
			t.Errorf("%q is %s %d", s, host, port)
		}
	}
}

func counter() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{}) }

// count returns the value of a counter.
func count(c prometheus.Counter) float64 {
	var out dto.Metric
	if err := c.Write(&out); err != nil {
		panic("BUG: " + err.Error())
	}
	return out.GetCounter().GetValue()
}

// fakeResolver resolves host names that change their addresses.
type fakeResolver struct {
	mu sync.Mutex
	of map[string][]netip.Addr
}

func (n *fakeResolver) set(host string, ips ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of[host] = nil
	for _, ip := range ips {
		n.of[host] = append(n.of[host], netip.MustParseAddr(ip))
	}
}

func (n *fakeResolver) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of[host] == nil {
		return nil, errors.New("no such host")
	}
	return n.of[host], nil
}

func TestDestinationsFollowNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := &fakeResolver{of: map[string][]netip.Addr{}}
		hosts.set("one", "10.0.0.2", "::1")
		d, err := NewDestinations([]string{"10.0.0.1", "one:7", "two"}, 5, hosts.resolve, nil, netip.MustParseAddr("10.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		changes := 0
		d.Changed, d.Log, d.Errors = func() { changes++ }, slog.New(slog.DiscardHandler), counter()
		if got := d.Addresses(); !slices.Equal(got, []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:5")}) {
			t.Errorf("before a look-up: %v", got)
		}
		go d.Run(t.Context())
		wantAddresses := func(want ...string) {
			t.Helper()
			d.Searched()
			time.Sleep(resolveInterval)
			synctest.Wait()
			var got []string
			for _, a := range d.Addresses() {
				got = append(got, a.String())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		wantAddresses("10.0.0.1:5", "10.0.0.2:7")
		hosts.set("one", "10.0.0.3") // while the look-up of two fails, no address is removed
		wantAddresses("10.0.0.1:5", "10.0.0.2:7", "10.0.0.3:7")
		hosts.set("two", "10.0.0.4")
		wantAddresses("10.0.0.1:5", "10.0.0.3:7", "10.0.0.4:5")
		if changes != 3 || count(d.Errors) < 2 {
			t.Errorf("%d changes, %v failures counted", changes, count(d.Errors))
		}
		before := count(d.Errors)
		hosts.set("two")
		time.Sleep(time.Hour)
		synctest.Wait()
		if count(d.Errors) != before {
			t.Error("names are looked up while nothing is searched for")
		}
	})
}

func TestServerThatBreaksCircuitsIsLeftAloneForLonger(t *testing.T) {
	server := netip.MustParseAddrPort("10.0.0.1:5")
	now := time.Unix(1e9, 0)
	p := Penalties{}
	until := func() (d time.Duration) {
		for p.Active(server, now.Add(d)) {
			d += 10 * time.Millisecond
		}
		return d
	}
	last := time.Duration(0)
	for range 15 {
		p.Ended(server, time.Second, now)
		d := until()
		if d > MaxPenalty*5/4 || d < last/2 {
			t.Errorf("the penalty is %v after a penalty of %v", d, last)
		}
		last = d
	}
	if last < MaxPenalty*3/4 {
		t.Errorf("the last penalty is %v, want about MaxPenalty", last)
	}
	p.Ended(server, GoodLife, now)
	if until() != 0 {
		t.Error("a circuit that lasted for GoodLife does not end the penalty")
	}
	p.Ended(server, 0, now)
	p.Ended(netip.MustParseAddrPort("10.0.0.2:5"), 0, now.Add(time.Hour))
	if len(p) != 1 {
		t.Errorf("Penalties remembers %d servers, want 1", len(p))
	}
}

func TestEnvironment(t *testing.T) {
	var (
		list    []string
		port    uint16
		yes     bool
		timeout time.Duration
	)
	read := func(env ...string) error {
		return ReadEnv(func(name string) (string, bool) {
			for _, e := range env {
				if value, found := strings.CutPrefix(e, name+"="); found {
					return value, true
				}
			}
			return "", false
		}, Variable{"LIST", SetList(&list)}, Variable{"PORT", SetPort(&port)}, Variable{"YES", SetYesNo(&yes)}, Variable{"TMO", SetSeconds(&timeout)})
	}
	if err := read("LIST=a:1  b\t10.0.0.1", "PORT=6", "YES=yes", "TMO= 2.5 "); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a:1", "b", "10.0.0.1"}, list); diff != "" || port != 6 || !yes || timeout != 2500*time.Millisecond {
		t.Errorf("%d, %v, %v, %s", port, yes, timeout, diff)
	}
	if err := read("LIST=", "PORT= "); err != nil || port != 6 {
		t.Errorf("an empty value is treated differently from a missing one: %v", err)
	}
	for _, wrong := range []string{"LIST=a:x", "PORT=0", "YES=maybe", "TMO=0", "TMO=inf", "TMO=NaN"} {
		if err := read(wrong); err == nil || !strings.Contains(err.Error(), strings.Split(wrong, "=")[0]) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
