package clienttest

import (
	"runtime"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/test/testclock"
)

// heap returns the bytes of the heap that are in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// CheckAnnouncedFrames checks that frames of 16 MiB, of which servers send only the first bytes, take
// no memory. The channels T:C0… are on so many servers of their own, to which the network's name server
// refers.
func CheckAnnouncedFrames(t *testing.T, c capture.Source, k *client.Kernel, servers int) {
	t.Helper()
	const most = 64 << 20
	before := heap()
	SubscribeAll(c, make([]Recorder, servers))
	testclock.Advance(2 * time.Second)
	if got := k.Stats().Circuits; got != servers+1 {
		t.Fatalf("%d circuits", got)
	}
	if grown := heap() - before; grown > most {
		t.Errorf("%d circuits with a started frame take %d MiB", servers, grown>>20)
	}
}

// CheckUnaskedServer checks that an answer counts only from a server to which the search was sent.
// The channel ONE is on another server than the name server, and the channel TWO on none. unasked makes
// that other server answer for TWO, and asked the name server.
func CheckUnaskedServer(t *testing.T, c capture.Source, unasked, asked func()) {
	t.Helper()
	r := &Recorder{}
	c.Subscribe("ONE", capture.SubscribeOptions{}, &Recorder{})
	c.Subscribe("TWO", capture.SubscribeOptions{}, r)
	testclock.Advance(time.Second)
	unasked()
	testclock.Advance(time.Second)
	if calls := r.Calls(); len(calls) > 0 {
		t.Errorf("a server took a channel for which only the name server was asked: %v", calls)
	}
	asked()
	testclock.Advance(time.Second)
	if len(r.Words()) != 1 {
		t.Errorf("after the answer of the name server: %v", r.Calls())
	}
}
