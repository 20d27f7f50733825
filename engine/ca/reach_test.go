package ca

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"varve.dev/varve/engine/client"
)

// TestReachSaysWhatIsWrongWithTheAddresses checks the text for users about an address list that is empty,
// or has a name that cannot be resolved.
func TestReachSaysWhatIsWrongWithTheAddresses(t *testing.T) {
	for list, want := range map[string]struct{ asked, problem string }{
		"":                          {"", "there are no addresses to search: set EPICS_CA_ADDR_LIST or EPICS_CA_NAME_SERVERS, or set EPICS_CA_AUTO_ADDR_LIST to YES"},
		"10.0.0.1":                  {"by UDP 10.0.0.1:5064", ""},
		"ioc-1.example 10.0.0.1:99": {"by UDP ioc-1.example 10.0.0.1:99", "EPICS_CA_ADDR_LIST has host names that cannot be resolved: ioc-1.example"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := newClient(Config{Config: client.Config{
				AddrList: strings.Fields(list),
				Resolve:  func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") },
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.kernel.Socket().Close()
			go c.kernel.Socket().To.Run(t.Context())
			synctest.Wait()
			if r := c.Reach(); r.Asked != want.asked || r.Problem != want.problem {
				t.Errorf("with the list %q: %+v, want %+v", list, r, want)
			}
		})
	}
}
