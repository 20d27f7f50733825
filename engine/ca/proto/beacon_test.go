package proto

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBeaconRoundTrip(t *testing.T) {
	for in, want := range map[string]string{"10.0.0.5:5064": "10.0.0.5:5064", "0.0.0.0:0": "10.0.0.9:0"} {
		var h Header
		sent := Beacon{Server: netip.MustParseAddrPort(in), ID: 3, Minor: 11}
		if _, _, err := ReadFrame(AppendBeacon(nil, sent), &h, 64); err != nil {
			t.Fatal(err)
		}
		sent.Server = netip.MustParseAddrPort(want)
		if got := ParseBeacon(&h, netip.MustParseAddr("10.0.0.9")); got != sent {
			t.Errorf("%s: %+v, want %+v", in, got, sent)
		}
	}
}

// TestRepeaterMessages checks the layout of repeater messages against caProto.h. The address
// is in the second parameter.
func TestRepeaterMessages(t *testing.T) {
	loopback := netip.MustParseAddr("127.0.0.1")
	for name, c := range map[string]struct{ got, want []byte }{
		"register": {
			AppendRepeaterRegister(nil, loopback), []byte{0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 1},
		},
		"confirm": {
			AppendRepeaterConfirm(nil, loopback), []byte{0, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 1},
		},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
