package pva

import (
	"context"
	"net"
	"strconv"
	"testing"

	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/test/epics"
)

func TestNoStepOfManyRecordsIsMissing(t *testing.T) {
	const records, steps = 1000, 20
	ioc := epics.StartIOC(t, clienttest.Counters(records))
	for name, pipeline := range map[string]bool{"pipelined": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			c := clienttest.Start(t, New, Config{Config: clienttest.ByTCP(ioc.PVAAddr()), Pipeline: pipeline})
			clienttest.CheckEveryStep(t, c, records, steps, nil)
		})
	}
}

func TestIOCComesBack(t *testing.T) {
	ioc := epics.StartIOC(t, clienttest.Counters(10))
	c := clienttest.Start(t, New, Config{Config: clienttest.ByTCP(ioc.PVAAddr())})
	clienttest.CheckIOCComesBack(t, c, ioc)
}

func TestChannelsAreFoundOnTwoHosts(t *testing.T) {
	one := epics.StartIOCOn(t, "127.0.0.1", `record(ai, "T:ONE") { field(PINI, "YES") }`)
	two := epics.StartIOCOn(t, "127.0.0.2", `record(ai, "T:TWO") { field(PINI, "YES") }`)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByTCP(one.PVAAddr(), two.PVAAddr())})
	clienttest.CheckHosts(t, c, map[string]string{"T:ONE": one.PVAAddr(), "T:TWO": two.PVAAddr()})
}

func TestIOCComesBackUnderItsHostNameAtAnotherAddress(t *testing.T) {
	one := epics.StartIOCOn(t, "127.0.0.1", clienttest.Counters(1))
	two := epics.StartIOCOn(t, "127.0.0.2", clienttest.Counters(1))
	host := clienttest.NewMovingHost(one.Host)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		// The second IOC cannot choose the same port, so the test maps the port.
		if address == net.JoinHostPort(two.Host, strconv.Itoa(one.PVAPort)) {
			address = two.PVAAddr()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	config := Config{Config: clienttest.ByTCP("ioc:" + strconv.Itoa(one.PVAPort))}
	config.Resolve, config.Dial = host.Resolve, dial
	c := clienttest.Start(t, New, config)
	sinks := make([]recorder, 1)
	clienttest.SubscribeAll(c, sinks)
	clienttest.Await(t, "an update", func() bool { return sinks[0].Has(1) })
	host.Move(two.Host)
	one.Kill()
	clienttest.Await(t, "the IOC at its new address", func() bool {
		return sinks[0].View(func(r *recorder) bool { return r.Up && r.Connects == 2 })
	})
}
