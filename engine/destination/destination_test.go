package destination

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestDialerChecksTheAddressOfAName connects to a listener by a name that is not an address.
func TestDialerChecksTheAddressOfAName(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, loopback := range []bool{false, true} {
		r := Rules{Loopback: loopback, Process: "the server", Advice: "give another one"}
		conn, err := r.Dialer(10*time.Second).DialContext(t.Context(), "tcp4", "localhost:"+port)
		var refused *RefusedError
		if (err == nil) != loopback || err != nil && (!errors.As(err, &refused) || strings.Contains(refused.Error(), "127.0.0.1")) {
			t.Errorf("loopback allowed: %t: %v", loopback, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}

func TestHostsAreChecked(t *testing.T) {
	r := Rules{Refused: []netip.Addr{netip.MustParseAddr("10.96.0.1")}, Process: "the server", Advice: "give another one"}
	for host, want := range map[string]string{
		"appliance": "", "10.1.2.3": "", "fd00::1": "", "10.96.0.1": "the API server", "[::ffff:10.96.0.1]": "the API server",
		"169.254.169.254.": "a link-local address", "127.1": "an unusual form", "0xa9.0xfe.0xa9.0xfe": "an unusual form", "[2002:7f00:1::1]": "the machine of the server itself",
	} {
		if err := r.CheckHost(host); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", host, err, want)
		}
	}
}
