package protocols

import (
	"net"
	"strconv"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

// faulty is the address of the proxies. They listen on the ports of the IOC, because a server
// answers a search with its port but without its address.
const faulty = "127.0.0.2"

// TestLong_FaultyConnections checks the archiver with connections that deliver corrupt data.
// The archiver must reconnect to the server, limit its memory, and mark the updates that it
// missed.
func TestLong_FaultyConnections(t *testing.T) {
	t.Parallel()
	pvs := counting(50, 50)
	p := &fixture{IOC: epics.StartIOC(t, archive.Counting(pvs)), pvs: pvs}
	ca, pva := net.JoinHostPort(faulty, strconv.Itoa(p.CAPort)), net.JoinHostPort(faulty, strconv.Itoa(p.PVAPort))
	relay(t, ca, p.CAAddr())
	const faults = 6
	proxies := []*proxy{
		newProxy(t, ca, p.CAAddr(), channelAccess(), faults),
		newProxy(t, pva, p.PVAAddr(), pvAccess(), faults),
	}
	start := time.Now()
	p.startArchiver(t, "EPICS_CA_ADDR_LIST="+ca, "EPICS_PVA_ADDR_LIST=", "EPICS_PVA_NAME_SERVERS="+pva)
	for _, proxy := range proxies {
		proxy.await(t)
	}
	t.Logf("all faults had occurred after %.1f s", time.Since(start).Seconds())
	p.AwaitSamples(len(pvs))
	p.begin = start // also check the samples between the faults
	p.GoOn(2 * time.Second)
	p.awaitLossMarks(t)
	p.checkMemory(t)
	p.account(t)
}
