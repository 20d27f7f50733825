package protocols

import (
	"net"
	"strconv"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

// faulty is where the proxies listen, at the ports of the IOC: servers that answer a
// search give no address but only the port.
const faulty = "127.0.0.2"

// Whatever comes out of a connection, the archiver finds its way back to the server,
// its memory is bounded, and what it missed meanwhile is marked.
func TestLong_FaultyConnections(t *testing.T) {
	t.Parallel()
	pvs := counting(50, 50)
	p := &plant{IOC: epics.StartIOC(t, archive.Counting(pvs)), pvs: pvs}
	ca, pva := net.JoinHostPort(faulty, strconv.Itoa(p.CAPort)), net.JoinHostPort(faulty, strconv.Itoa(p.PVAPort))
	relay(t, ca, p.CAAddr())
	const faults = 6
	proxies := []*proxy{
		newProxy(t, ca, p.CAAddr(), channelAccess(), faults),
		newProxy(t, pva, p.PVAAddr(), pvAccess(), faults),
	}
	start := time.Now()
	p.archiveThem(t, "EPICS_CA_ADDR_LIST="+ca, "EPICS_PVA_ADDR_LIST=", "EPICS_PVA_NAME_SERVERS="+pva)
	for _, proxy := range proxies {
		proxy.await(t)
	}
	t.Logf("all faults were met after %.1f s", time.Since(start).Seconds())
	p.AwaitSamples(len(pvs))
	p.begin = start // what came between the faults counts
	p.GoOn(2 * time.Second)
	p.settle(t)
	p.checkMemory(t)
	p.account(t)
}
