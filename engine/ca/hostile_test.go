package ca

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/wire"
	"varve.dev/varve/test/testclock"
)

// array returns an update with n bytes of elements.
func array(sub uint32, n int) []byte {
	v := sample.Sample{Time: proto.EpicsEpoch * 1e9, Bytes: make([]byte, n)}
	return proto.AppendEvent(nil, proto.Double.In(proto.TIME), true, &v, nil, sub)
}

func TestAnnouncedFramesTakeNoMemory(t *testing.T) {
	const circuits = 120
	names := doubles(nameServerAddr)
	names.redirect = map[string]string{}
	servers := []*script{names}
	begun := proto.AppendHeader(proto.AppendVersion(nil, 0), proto.Header{
		Command: proto.CmdEventAdd, Type: uint16(proto.Double.In(proto.TIME)), Size: 16 << 20, Count: 1 << 21, P1: 1,
	})
	begun = append(begun, make([]byte, 100)...)
	for i := range circuits {
		s := doubles(fmt.Sprintf("10.0.1.%d:5064", i))
		s.greet = begun
		names.redirect[fmt.Sprintf("T:C%d", i)] = s.address
		servers = append(servers, s)
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		clienttest.CheckAnnouncedFrames(t, c, c.kernel, circuits)
	}, servers...)
}

func TestSlowFrameEndsTheCircuit(t *testing.T) {
	server := doubles(nameServerAddr)
	server.elements = 1 << 17
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		s.write(array(s.subs[0], 1<<20)[:100]) // the rest may take 46 s
		for i := 0; len(r.Suspects()) == 0 && i < 60; i++ {
			testclock.Advance(10 * time.Second)
			s.write([]byte{0})
			synctest.Wait()
		}
		testclock.Advance(time.Second)
		if got := r.Suspects(); len(server.sessions) != 2 || !r.Up || len(got) != 1 || got[0] != "suspect 50s" {
			t.Errorf("%d circuits, calls %v", len(server.sessions), r.Calls())
		}
	}, server)
}

func TestFrameMayTakeAsLongAsASlowNetworkNeeds(t *testing.T) {
	server := doubles(nameServerAddr)
	server.elements = 1 << 20
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		frame := array(s.subs[0], 8<<20)
		for second := range 100 {
			s.write(frame[len(frame)*second/100 : len(frame)*(second+1)/100])
			testclock.Advance(time.Second)
		}
		if len(server.sessions) != 1 || len(r.Samples) != 2 || len(r.Samples[1].Bytes) != 8<<20 {
			t.Errorf("%d circuits, %d samples, calls %v", len(server.sessions), len(r.Samples), r.Calls())
		}
	}, server)
}

func TestUnfinishedFramesDoNotKeepOtherServersFromTheirMemory(t *testing.T) {
	const hoarders, frame = 4, 1 << 20
	names, good := doubles(nameServerAddr), doubles(otherAddr)
	good.elements = frame / 8
	names.redirect = map[string]string{"GOOD": otherAddr}
	servers := []*script{names, good}
	half := append(proto.AppendVersion(nil, 0), array(0, frame)[:frame/2+1]...)
	for i := range hoarders {
		s := doubles(fmt.Sprintf("10.0.1.%d:5064", i))
		s.greet = half
		names.redirect[fmt.Sprintf("T:C%d", i)] = s.address
		servers = append(servers, s)
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		config := config(clienttest.NewNetwork(servers...))
		config.ReceiveMemory, config.Log = wire.NewBudget(2*frame), slog.New(slog.NewTextHandler(&log, nil))
		c := clienttest.Start(t, New, config)
		r := &recorder{}
		c.Subscribe("GOOD", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := good.last()
		clienttest.SubscribeAll(c, make([]recorder, hoarders))
		testclock.Advance(time.Second)
		want := []int{0}
		for range 5 {
			go s.write(array(s.subs[0], frame))
			testclock.Advance(time.Minute)
			want = append(want, frame)
		}
		var sizes []int
		for _, v := range r.Samples {
			sizes = append(sizes, len(v.Bytes))
		}
		if diff := cmp.Diff(want, sizes); diff != "" || len(good.sessions) != 1 {
			t.Errorf("%d circuits, calls %v, sizes (-want +got):\n%s", len(good.sessions), r.Calls(), diff)
		}
		if !strings.Contains(log.String(), wire.ErrHoarding.Error()) {
			t.Errorf("no circuit ended for the memory of its frame:\n%s", log.String())
		}
		if used := config.ReceiveMemory.Used(); used > 3*frame {
			t.Errorf("%d bytes are in use", used)
		}
	})
}
