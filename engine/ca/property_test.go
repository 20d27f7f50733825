package ca

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

func TestMetadataChangesAreDelivered(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		sub := c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		server.units = "A"
		s := server.last()
		s.write(s.properties(s.subs[0] | propertyBit))
		s.write(s.update(8, s.subs[0]))
		synctest.Wait()
		sub.Close()
		s.write(s.properties(s.subs[0] | propertyBit)) // the update was already in flight
		testclock.Advance(time.Second)
		if diff := cmp.Diff([]string{"connected float64", "metadata mA", "metadata A"}, r.Calls()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]uint64{7, 8}, r.Words()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if server.count(proto.CmdReadNotify) > 0 || server.count(proto.CmdEventCancel) != 2 {
			t.Errorf("%d reads, %d cancelled subscriptions", server.count(proto.CmdReadNotify), server.count(proto.CmdEventCancel))
		}
	}, server)
}

func TestServerWithoutPropertyEventsIsRead(t *testing.T) {
	for name, refuse := range map[string]func(h proto.Header) []byte{
		"refused": func(h proto.Header) []byte { return proto.AppendError(nil, 0, proto.StatusBadMask, h, "bad mask") },
		"failed": func(h proto.Header) []byte {
			h.Size, h.P1 = 0, uint32(proto.StatusGetFail)
			return proto.AppendHeader(nil, h)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			server.override = func(s *session, h *proto.Header, _ []byte) bool {
				property := h.Command == proto.CmdEventAdd && h.P2&propertyBit != 0
				if property {
					s.write(refuse(*h))
				}
				return property
			}
			bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
				r := &recorder{}
				sub := c.Subscribe("PV", capture.SubscribeOptions{}, r)
				testclock.Advance(time.Second)
				s := server.last()
				for _, rights := range []proto.Rights{0, proto.RightRead} { // the client does not see changes while access is denied
					s.write(proto.AppendAccessRights(nil, 0, rights))
				}
				testclock.Advance(time.Second)
				sub.Close()
				testclock.Advance(time.Second)
				want := []string{
					"connected float64", "metadata mA", "disconnected: " + nameServerAddr + ": " + capture.ErrAccessDenied.Error(), "connected float64", "metadata mA",
				}
				if diff := cmp.Diff(want, r.Calls()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if server.count(proto.CmdReadNotify) != 2 || server.count(proto.CmdEventCancel) != 1 {
					t.Errorf("%d reads, %d cancelled subscriptions", server.count(proto.CmdReadNotify), server.count(proto.CmdEventCancel))
				}
			}, server)
		})
	}
}

func TestMetadataOfStringsIsNotRequested(t *testing.T) {
	server := doubles(nameServerAddr)
	server.channel, server.value.Bytes = proto.String, []byte("text")
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		if diff := cmp.Diff([]string{"connected string", "metadata "}, r.Calls()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if server.count(proto.CmdEventAdd) != 1 || server.count(proto.CmdReadNotify) != 0 || r.Meta.Type != sample.String {
			t.Errorf("%d subscriptions, metadata %+v", server.count(proto.CmdEventAdd), r.Meta)
		}
	}, server)
}

func TestLongStringIsText(t *testing.T) {
	server := doubles(nameServerAddr)
	server.channel, server.elements = proto.Char, 256
	server.value.Bytes = append([]byte("longer than the forty bytes of a DBR_STRING"), make([]byte, 20)...)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		long, array := &recorder{}, &recorder{}
		c.Subscribe("PV.VAL$", capture.SubscribeOptions{}, long)
		testclock.Advance(time.Second)
		c.Subscribe("PV.VAL", capture.SubscribeOptions{}, array)
		testclock.Advance(time.Second)
		s := server.last()
		for _, text := range []string{"", "no NUL at its end"} {
			v := sample.Sample{Time: proto.EpicsEpoch * 1e9, Bytes: []byte(text)}
			s.write(proto.AppendEvent(nil, proto.Char.In(proto.TIME), true, &v, nil, s.subs[0]))
		}
		synctest.Wait()
		var got []string
		for _, s := range long.Samples {
			got = append(got, string(s.Bytes))
		}
		want := []string{"longer than the forty bytes of a DBR_STRING", "", "no NUL at its end"}
		if diff := cmp.Diff(want, got); diff != "" || long.Info.Type != sample.String || long.Info.Count != 1 {
			t.Errorf("channel %+v, values (-want +got):\n%s", long.Info, diff)
		}
		if array.Info.Type != sample.Uint8.Array() || len(array.Samples[0].Bytes) != 63 {
			t.Errorf("array channel: %+v, %d bytes", array.Info, len(array.Samples[0].Bytes))
		}
	}, server)
}

func TestTypeMayChangeWhileTheServerIsDown(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Minute)
		server.channel = proto.Long
		server.last().conn.Close()
		testclock.Advance(time.Second)
		want := []string{
			"connected float64", "metadata mA", "disconnected: lost 10.0.0.1:5064: " + client.ErrServerClosed.Error(),
			"connected int32", "metadata mA",
		}
		if diff := cmp.Diff(want, r.Calls()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, server)
}

func TestMetadataOfManyChannelsIsRequestedSlowly(t *testing.T) {
	const channels = 3000
	server := doubles(nameServerAddr)
	var requested, most, window int
	var began time.Time
	server.override = func(_ *session, h *proto.Header, _ []byte) bool {
		if h.Command != proto.CmdEventAdd || h.P2&propertyBit == 0 {
			return false
		}
		if time.Since(began) > propertyInterval/2 {
			began, window = time.Now(), 0
		}
		requested++
		window++
		most = max(most, window)
		return false
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		sinks := make([]recorder, channels)
		clienttest.SubscribeAll(c, sinks[1:])
		closed := c.Subscribe("CLOSED", capture.SubscribeOptions{}, &sinks[0])
		testclock.Advance(200 * time.Millisecond)
		closed.Close()
		testclock.Advance(2 * time.Second)
		for i := range sinks[1:] {
			if sinks[i+1].Meta == nil {
				t.Fatalf("channel %d got calls %v", i+1, sinks[i+1].Calls())
			}
		}
		if requested > channels || most > propertyBatch {
			t.Errorf("%d requests, at most %d of them at once", requested, most)
		}
	}, server)
}
