package protocols

import (
	"net/http"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// newRemoteFixture starts an IOC and an archiver in two separate network namespaces that a veth
// pair connects. It returns the fixture and the namespace of the IOC.
func newRemoteFixture(t *testing.T, n int, env ...string) (*fixture, *namespace) {
	t.Helper()
	here, there := newNamespace(t), newNamespace(t)
	join(here, there)
	p := &fixture{pvs: counting(n, n)}
	there.do(func() { p.IOC = epics.StartIOCOn(t, thereAddr, archive.Counting(p.pvs)) })
	here.do(func() { p.startArchiver(t, env...) })
	p.HTTP.Transport = &http.Transport{DialContext: here.dial}
	p.warmUp()
	return p, there
}

// TestLong_NetworkIsDown takes the network down for ten seconds. Circuits stay open. The
// archive loses the updates that the IOCs could not queue, and must mark the loss.
func TestLong_NetworkIsDown(t *testing.T) {
	t.Parallel()
	p, far := newRemoteFixture(t, 200)
	far.unplug()
	p.GoOn(10 * time.Second)
	far.plug()
	p.awaitUpdates(t)
	p.awaitLossMarks(t)
	p.checkMemory(t)
	p.account(t)
}

// TestLong_HalfOpenCircuit checks that the archiver closes a circuit whose other end is silent
// for EPICS_CA_CONN_TMO or EPICS_PVA_CONN_TMO, even if TCP reports no error. The archiver must
// mark all updates that it missed since the circuit became silent.
func TestLong_HalfOpenCircuit(t *testing.T) {
	t.Parallel()
	p, far := newRemoteFixture(t, 50, "EPICS_CA_CONN_TMO=5", "EPICS_PVA_CONN_TMO=5")
	far.unplug()
	down := time.Now()
	program.Eventually(t, "the silent circuits are closed", func() bool {
		return p.Summary().States["disconnected"] == len(p.pvs)
	})
	t.Logf("the circuits were closed after %.1f s", time.Since(down).Seconds())
	if took := time.Since(down); took > 30*time.Second {
		t.Errorf("with a time-out of 5 s, circuits were closed only after %v", took)
	}
	far.plug()
	up := time.Now()
	p.AwaitConnected(len(p.pvs))
	t.Logf("the channels were connected again after %.1f s", time.Since(up).Seconds())
	p.awaitUpdates(t)
	p.awaitLossMarks(t)
	p.account(t)
}

// awaitUpdates waits until every PV has received another update.
func (p *fixture) awaitUpdates(t *testing.T) {
	t.Helper()
	from := time.Now()
	program.Eventually(t, "all PVs have been updated", func() bool {
		for _, c := range p.Channels() {
			if c.Last == nil || c.Last.Time.Before(from) {
				return false
			}
		}
		return true
	})
	t.Logf("all PVs were updated %.1f s after the network was up", time.Since(from).Seconds())
}
