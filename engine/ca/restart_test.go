package ca

import (
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/test/epics"
)

func TestNoStepOfManyRecordsIsMissing(t *testing.T) { followRecords(t, 1000, 20) }

func TestLong_NoStepOfManyRecordsIsMissing(t *testing.T) { followRecords(t, 2000, 30) }

// followRecords waits for a number of steps of records that count.
func followRecords(t *testing.T, records, steps int) {
	ioc := epics.StartIOC(t, clienttest.Counters(records))
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(ioc.CAAddr())})
	clienttest.CheckEveryStep(t, c, records, steps, ioc.Replaced)
}

func TestIOCComesBack(t *testing.T) {
	ioc := epics.StartIOC(t, clienttest.Counters(10))
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(ioc.CAAddr())})
	clienttest.CheckIOCComesBack(t, c, ioc)
}

func TestNameServerReplacesUDP(t *testing.T) {
	ioc := epics.StartIOC(t, clienttest.Counters(3))
	c := clienttest.Start(t, New, Config{Config: clienttest.ByTCP(ioc.CAAddr())})
	sinks := make([]recorder, 3)
	clienttest.SubscribeAll(c, sinks)
	for round := range 2 {
		for i := range sinks {
			clienttest.Await(t, "an update", func() bool {
				return sinks[i].Has(2) && sinks[i].View(func(r *recorder) bool { return r.Connects == round+1 })
			})
		}
		if round == 0 {
			ioc.Restart()
		}
	}
}

func TestChannelsAreFoundOnTwoHosts(t *testing.T) {
	one := epics.StartIOCOn(t, "127.0.0.1", `record(ai, "T:ONE") { field(PINI, "YES") }`)
	two := epics.StartIOCOn(t, "127.0.0.2", `record(ai, "T:TWO") { field(PINI, "YES") }`)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(one.CAAddr(), two.CAAddr())})
	clienttest.CheckHosts(t, c, map[string]string{"T:ONE": one.CAAddr(), "T:TWO": two.CAAddr()})
}

func TestIOCComesBackUnderItsHostNameAtAnotherAddress(t *testing.T) {
	one := epics.StartIOCOn(t, "127.0.0.1", clienttest.Counters(1))
	two := epics.StartIOCAt(t, "127.0.0.2", one.CAPort, clienttest.Counters(1))
	address := "ioc:" + strconv.Itoa(one.CAPort)
	for name, config := range map[string]Config{
		"UDP": {Config: clienttest.ByUDP(address)}, "name server": {Config: clienttest.ByTCP(address)},
	} {
		t.Run(name, func(t *testing.T) {
			host := clienttest.NewMovingHost(one.Host)
			config.Resolve = host.Resolve
			c := clienttest.Start(t, New, config)
			sinks := make([]recorder, 1)
			clienttest.SubscribeAll(c, sinks)
			clienttest.Await(t, "an update", func() bool { return sinks[0].Has(1) })
			host.Move(two.Host)
			one.Kill()
			clienttest.Await(t, "the IOC at its new address", func() bool {
				return sinks[0].View(func(r *recorder) bool { return r.Up && r.Info.Host == two.CAAddr() })
			})
		})
		one.Start()
	}
}

// manyChannels is the number of channels of an IOC. mostChannels is the number of channels of
// a large IOC.
const manyChannels, mostChannels = 4000, 20_000

// allUp waits until all channels have connected for the nth time and have a value. It returns
// the duration of the wait.
func allUp(t *testing.T, sinks []clienttest.Tally, n int) time.Duration {
	t.Helper()
	defer func() {
		if !t.Failed() {
			return
		}
		states := map[string]int{} // number of channels by their state
		for i := range sinks {
			states[fmt.Sprintf("%d connections, the last ended with %v", sinks[i].Connects.Load(), sinks[i].Cause.Load())]++
		}
		t.Logf("numbers of channels: %v", states)
	}()
	began := time.Now()
	for i := range sinks {
		clienttest.Await(t, fmt.Sprintf("connection %[2]d of channel %[1]d", i, n), func() bool {
			return sinks[i].Connects.Load() == int64(n) && sinks[i].Samples.Load() >= uint64(n)
		})
	}
	return time.Since(began)
}

// subscribeMany subscribes to n records of clienttest.Passive.
func subscribeMany(c *Client, n int) []clienttest.Tally {
	sinks := make([]clienttest.Tally, n)
	clienttest.SubscribeAll(c, sinks)
	return sinks
}

func TestManyChannelsComeBackTogether(t *testing.T) { restart(t, manyChannels) }

func TestLong_ManyChannelsComeBackTogether(t *testing.T) { restart(t, mostChannels) }

// restart restarts an IOC with n channels.
func restart(t *testing.T, n int) {
	one := epics.StartIOC(t, clienttest.Passive(n))
	host := clienttest.NewMovingHost(one.Host)
	for name, config := range map[string]Config{
		"searched": {Config: clienttest.ByUDP(one.CAAddr())},
		"probed":   {Config: clienttest.ByUDP("ioc:" + strconv.Itoa(one.CAPort))},
	} {
		t.Run(name, func(t *testing.T) {
			config.Resolve = host.Resolve
			host.Move(one.Host)
			sinks := subscribeMany(clienttest.Start(t, New, config), n)
			t.Logf("%d channels connected after %v", n, allUp(t, sinks, 1))
			host.Move("127.0.0.9") // no server is at this address, so searches no longer arrive
			one.Restart()
			comeBack(t, sinks, 2)
		})
	}
}

func TestManyChannelsMoveToAnotherPort(t *testing.T) { move(t, manyChannels) }

func TestLong_ManyChannelsMoveToAnotherPort(t *testing.T) { move(t, mostChannels) }

// move stops an IOC with n channels, and starts it at another port.
func move(t *testing.T, n int) {
	beacons := epics.FreePort(t, "127.0.0.1")
	t.Setenv("EPICS_CAS_BEACON_PORT", strconv.Itoa(beacons))
	one := epics.StartIOC(t, clienttest.Passive(n))
	port := epics.FreePort(t, one.Host)
	moved := net.JoinHostPort(one.Host, strconv.Itoa(port))
	sinks := subscribeMany(clienttest.Start(t, New, Config{Config: clienttest.ByUDP(one.CAAddr(), moved), RepeaterPort: uint16(beacons)}), n)
	allUp(t, sinks, 1)
	one.Stop()
	epics.StartIOCAt(t, one.Host, port, clienttest.Passive(n))
	comeBack(t, sinks, 2)
}

// comeBack waits until all channels have connected for the nth time.
func comeBack(t *testing.T, sinks []clienttest.Tally, n int) {
	t.Helper()
	t.Logf("all channels connected again %v after the server started", allUp(t, sinks, n))
}
