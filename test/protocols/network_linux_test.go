package protocols

import (
	"net/http"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// newRemotePlant starts an IOC and an archiver in two separate network namespaces that a veth
// pair connects. It returns the fixture and the namespace of the IOC.
func newRemotePlant(t *testing.T, n int, env ...string) (*plant, *namespace) {
	t.Helper()
	here, there := newNamespace(t), newNamespace(t)
	join(here, there)
	p := &plant{pvs: counting(n, n)}
	there.do(func() { p.IOC = epics.StartIOCOn(t, thereAddr, archive.Counting(p.pvs)) })
	here.do(func() { p.archiveThem(t, env...) })
	p.HTTP.Transport = &http.Transport{DialContext: here.dial}
	p.warmUp()
	return p, there
}

// While the network is down for ten seconds, circuits stay open. The archive loses the updates
// that the IOCs could not queue, and marks the loss.
func TestLong_NetworkIsDown(t *testing.T) {
	t.Parallel()
	p, far := newRemotePlant(t, 200)
	far.unplug()
	p.GoOn(10 * time.Second)
	far.plug()
	p.awaitUpdates(t)
	p.settle(t)
	p.checkMemory(t)
	p.account(t)
}

// The archiver closes a circuit whose other end is silent for EPICS_CA_CONN_TMO or
// EPICS_PVA_CONN_TMO, even if TCP reports no error. It marks everything that it missed since the
// circuit fell silent.
func TestLong_HalfOpenCircuit(t *testing.T) {
	t.Parallel()
	p, far := newRemotePlant(t, 50, "EPICS_CA_CONN_TMO=5", "EPICS_PVA_CONN_TMO=5")
	far.unplug()
	down := time.Now()
	program.Eventually(t, "the silent circuits are given up", func() bool {
		return p.Summary().States["disconnected"] == len(p.pvs)
	})
	t.Logf("the circuits are given up after %.1f s", time.Since(down).Seconds())
	if took := time.Since(down); took > 30*time.Second {
		t.Errorf("with a time-out of 5 s, circuits are given up only after %v", took)
	}
	far.plug()
	up := time.Now()
	p.AwaitConnected(len(p.pvs))
	t.Logf("the channels are back after %.1f s", time.Since(up).Seconds())
	p.awaitUpdates(t)
	p.settle(t)
	p.account(t)
}

// awaitUpdates waits until every PV has received another update.
func (p *plant) awaitUpdates(t *testing.T) {
	t.Helper()
	from := time.Now()
	program.Eventually(t, "all PVs are updated", func() bool {
		for _, c := range p.Channels() {
			if c.Last == nil || c.Last.Time.Before(from) {
				return false
			}
		}
		return true
	})
	t.Logf("all PVs are updated %.1f s after the network is up", time.Since(from).Seconds())
}
