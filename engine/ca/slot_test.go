package ca

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

func TestChannelThatTheServerDeletesIsSearchedForAgain(t *testing.T) {
	refused := proto.Header{Command: proto.CmdEventAdd, P1: 100, P2: 0}
	for name, c := range map[string]struct {
		sends []byte
		cause string
	}{
		"deleted": {proto.AppendServerDisconn(nil, 0), errDeleted.Error()},
		"monitor refused": {
			proto.AppendError(nil, 0, proto.StatusBadMask, refused, "bad mask"),
			`EVENT_ADD refused with ECA_BADMASK: "bad mask"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			bubble(t, func(t *testing.T, n *clienttest.Network, client *Client) {
				loss := clienttest.Loss{Server: nameServerAddr, Value: 7, Cause: c.cause, Within: 10 * time.Second}
				loss.Check(t, client, func() { server.last().write(c.sends) })
				if len(server.sessions) != 1 {
					t.Errorf("%d circuits, want 1 that stays open", len(server.sessions))
				}
			}, server)
		})
	}
}

func TestChannelThatIsRefusedIsTriedAgainWithBackOff(t *testing.T) {
	server := doubles(nameServerAddr)
	server.override = func(s *session, h *proto.Header, _ []byte) bool {
		if h.Command == proto.CmdCreateChan {
			s.write(proto.AppendCreateChFail(nil, h.P1))
		}
		return h.Command == proto.CmdCreateChan
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(10 * time.Minute)
		if tries := server.count(proto.CmdCreateChan); tries < 60 || tries > 240 || len(r.Calls()) != tries ||
			r.Calls()[0] != "disconnected: found at "+nameServerAddr+", but not connected: "+errRefused.Error() {
			t.Errorf("%d tries in 10 minutes, calls %v", tries, r.Calls())
		}
	}, server)
}

func TestReadAccessComesAndGoes(t *testing.T) {
	for _, order := range [][]string{
		{"denied", "refused", "allowed", "updates"},
		{"refused", "denied", "updates", "allowed"}, // EPICS base 7 may send messages in this order
	} {
		t.Run(fmt.Sprint(order), func(t *testing.T) { testReadAccess(t, order) })
	}
}

func testReadAccess(t *testing.T, order []string) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		refused := proto.AppendHeader(nil, proto.Header{
			Command: proto.CmdEventAdd, Type: uint16(proto.Double.In(proto.TIME)), Size: 24, Count: 1,
			P1: uint32(proto.StatusNoReadAccess), P2: s.subs[0],
		})
		refused = append(refused, make([]byte, 24)...)
		updates := append(s.properties(s.subs[0]|propertyBit), s.update(1, s.subs[0])...)
		for _, b := range order {
			s.write(map[string][]byte{
				"denied": proto.AppendAccessRights(nil, 0, 0), "allowed": proto.AppendAccessRights(nil, 0, proto.RightRead),
				"refused": refused, "updates": updates,
			}[b])
		}
		synctest.Wait()
		want := []string{
			"connected float64", "metadata mA", "disconnected: " + nameServerAddr + ": " + capture.ErrAccessDenied.Error(), "connected float64", "metadata mA",
		}
		if diff := cmp.Diff(want, r.Calls()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]uint64{7, 1}, r.Words()); diff != "" || r.Drops[sample.Malformed] > 0 {
			t.Errorf("dropped updates %v, (-want +got):\n%s", r.Drops, diff)
		}
	}, server)
}

func TestTypeOfAChannelThatCannotBeArchivedIsReported(t *testing.T) {
	server := doubles(nameServerAddr)
	server.channel = 40
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Minute)
		if r.Info.TypeName != "DBR(40)" || r.Info.Type.Valid() || r.Connects != 1 {
			t.Errorf("%+v, calls %v", r.Info, r.Calls())
		}
		if server.count(proto.CmdEventAdd) > 0 {
			t.Error("the client subscribed to a channel that cannot be archived")
		}
	}, server)
}

func TestClosedSubscriptionIsEndedAtTheServer(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		clienttest.CheckClose(t, c, 7, func() {
			s := server.last()
			s.write(s.update(8, s.subs[0])) // the update was already in flight
		})
		if server.count(proto.CmdEventCancel) != 2 || server.count(proto.CmdClearChannel) != 1 {
			t.Error("the client did not end the channel exactly once")
		}
	}, server)
}

func TestSubscriptionsMayBeClosedAtAnyTime(t *testing.T) {
	names := doubles(nameServerAddr)
	names.redirect = map[string]string{"PV": otherAddr}
	other := doubles(otherAddr)
	other.override = func(_ *session, h *proto.Header, _ []byte) bool {
		time.Sleep(time.Millisecond) // so that Close may run between any two messages
		return false
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		clienttest.SubscribeAndClose(c)
		if s := c.kernel.Stats(); s.Channels > 0 || s.Searched > 0 || c.kernel.Circuit(other.circuitAddr()) != nil {
			t.Errorf("the client still has channels or circuits: %+v", s)
		}
	}, names, other)
}
