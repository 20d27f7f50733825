package protocols

import (
	"syscall"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

// TestLong_ArchiverStalls suspends the archiver for ten seconds, as on a node without free
// CPU. The archiver must recover on its own, and mark the updates that IOCs dropped meanwhile.
func TestLong_ArchiverStalls(t *testing.T) {
	t.Parallel()
	pvs := counting(2000, 300)
	p := &fixture{IOC: epics.StartIOC(t, archive.Counting(pvs)), pvs: pvs}
	p.startArchiver(t)
	p.warmUp()
	p.signal(t, syscall.SIGSTOP)
	p.GoOn(10 * time.Second)
	p.signal(t, syscall.SIGCONT)
	p.awaitLossMarks(t)
	p.checkMemory(t)
	for provider, n := range p.account(t) {
		if n == 0 {
			t.Logf("nothing was lost over %s", provider)
		}
	}
}

func (p *fixture) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
