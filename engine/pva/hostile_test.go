package pva

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/test/testclock"
)

func TestAnnouncedFramesTakeNoMemory(t *testing.T) {
	const circuits = 120
	names := doubles(nameServerAddr)
	names.redirect = map[string]string{}
	servers := []*script{names}
	for i := range circuits {
		s := doubles(fmt.Sprintf("10.0.1.%d:5075", i))
		s.greet = proto.AppendHeader(nil, proto.Header{Version: proto.Version, Flags: proto.FlagServer, Command: proto.CmdMonitor, Size: 16 << 20})
		s.greet = append(s.greet, make([]byte, 100)...)
		names.redirect[fmt.Sprintf("T:C%d", i)] = s.address
		servers = append(servers, s)
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		clienttest.CheckAnnouncedFrames(t, c, c.kernel, circuits)
	}, servers...)
}

func TestSlowMessageEndsTheCircuit(t *testing.T) {
	for name, size := range map[string]int{"in one frame": 1 << 30, "in segments": 6} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			server.override = func(_ *session, h *proto.Header, _ []byte) bool { return h.Command == proto.CmdEcho } // it would answer within the message
			bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
				r := &recorder{}
				c.Subscribe("PV", capture.SubscribeOptions{}, r)
				testclock.Advance(time.Second)
				s := server.last()
				message := s.update(s.subs[0], []int{fieldValue}, 8.0)
				first := 10
				if size < len(message) {
					frames := segment(message, size)
					first, message = len(frames[0]), slices.Concat(frames...)
				}
				s.write(message[:first])
				rest := message[first:]
				for i := 0; server.circuits() == 1 && i < len(rest)-1; i++ { // the message may take 30 s
					testclock.Advance(10 * time.Second)
					s.write(rest[i : i+1])
					synctest.Wait()
				}
				testclock.Advance(time.Second)
				if server.circuits() != 2 || !r.Up || !slices.Contains(r.Calls(), "suspect 40s") {
					t.Errorf("%d circuits, calls %v", server.circuits(), r.Calls())
				}
			}, server)
		})
	}
}
