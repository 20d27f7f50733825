package ca

import (
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/test/epics"
)

// beaconOf returns a datagram with a server's beacon that has a given ID.
func beaconOf(id uint32) []byte {
	return proto.AppendBeacon(nil, proto.Beacon{Server: netip.MustParseAddrPort("0.0.0.0:5064"), ID: id})
}

// repeaterConfig returns the configuration of a client that receives beacons on a port.
func repeaterConfig(port int, r prometheus.Registerer) Config {
	return Config{Config: client.Config{Registerer: r}, RepeaterPort: uint16(port)}
}

// awaitRegistrations waits until a repeater has count clients.
func awaitRegistrations(t *testing.T, r prometheus.Gatherer, count float64) {
	t.Helper()
	clienttest.Await(t, "registrations", func() bool { return clienttest.Gather(t, r)["varve_ca_repeater_clients"] == count })
}

// awaitListener waits until a program receives on a port. It does not bind the port to find
// out. Otherwise a repeater that starts at that moment would mistake the test for another
// repeater and exit.
func awaitListener(t *testing.T, port int) {
	t.Helper()
	clienttest.Await(t, "a repeater", func() bool {
		conn, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write([]byte{0}) // too short for a message
		_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err = conn.Read(make([]byte, 1))
		return !errors.Is(err, syscall.ECONNREFUSED)
	})
}

func TestTheFirstClientOfAHostRepeatsBeacons(t *testing.T) {
	t.Parallel() // it waits for most of the time
	port := epics.FreePort(t, "127.0.0.1")
	registries := [2]*prometheus.Registry{prometheus.NewRegistry(), prometheus.NewRegistry()}
	first := clienttest.Start(t, New, repeaterConfig(port, registries[0]))
	awaitListener(t, port)
	clienttest.Start(t, New, repeaterConfig(port, registries[1]))
	awaitRegistrations(t, registries[0], 1)
	server := clienttest.Listen(t)
	to := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port))
	for id := range uint32(3) {
		if _, err := server.WriteToUDPAddrPort(beaconOf(id), to); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range registries {
		clienttest.Await(t, "the beacons", func() bool { return clienttest.Gather(t, r)["varve_ca_beacons_total"] == 3 })
		if anomalies := clienttest.Gather(t, r)["varve_ca_beacon_anomalies_total"]; anomalies != 1 {
			t.Errorf("client %d counted %v anomalies of a server that starts", i, anomalies)
		}
	}
	_ = first.Close() // the other client takes over at its next registration
	clienttest.Await(t, "another repeater", func() bool {
		_, err := server.WriteToUDPAddrPort(beaconOf(3), to)
		return err == nil && clienttest.Gather(t, registries[1])["varve_ca_beacons_total"] > 3
	})
}

// startScript starts a Python script, and stops it at the end of the test.
func startScript(t *testing.T, script string, args ...string) {
	t.Helper()
	cmd := exec.Command(epics.Python(t), append([]string{"-u", "-c", script}, args...)...)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error shows only that the script was killed
	})
}

func TestLibcaRegistersWithTheRepeater(t *testing.T) {
	t.Parallel() // it waits for most of the time
	const libca = `
import os, sys, time
os.environ.update({"EPICS_CA_REPEATER_PORT": sys.argv[1], "EPICS_CA_AUTO_ADDR_LIST": "NO", "EPICS_CA_ADDR_LIST": "127.0.0.1:" + sys.argv[2]})
import epics
pv = epics.PV("T:NOBODY")
while True:
    epics.ca.poll(0.01, 0.1)
`
	port := epics.FreePort(t, "127.0.0.1")
	registry := prometheus.NewRegistry()
	clienttest.Start(t, New, repeaterConfig(port, registry))
	awaitListener(t, port)
	startScript(t, libca, strconv.Itoa(port), strconv.Itoa(epics.FreePort(t, "127.0.0.1")))
	awaitRegistrations(t, registry, 1)
}

func TestCaRepeaterOfEPICSBaseServesTheClient(t *testing.T) {
	const caRepeater = `
import ctypes, os, sys
os.environ["EPICS_CA_REPEATER_PORT"] = sys.argv[1]
from epicscorelibs.path import get_lib
ctypes.CDLL(get_lib("ca"))["_Z11ca_repeaterv"]()
`
	port := epics.FreePort(t, "127.0.0.1")
	startScript(t, caRepeater, strconv.Itoa(port))
	awaitListener(t, port)
	registry := prometheus.NewRegistry()
	clienttest.Start(t, New, repeaterConfig(port, registry))
	t.Setenv("EPICS_CAS_BEACON_PORT", strconv.Itoa(port))
	ioc := epics.StartIOC(t, clienttest.Counters(1))
	anomalies := func() float64 { return clienttest.Gather(t, registry)["varve_ca_beacon_anomalies_total"] }
	clienttest.Await(t, "an anomaly of the IOC", func() bool { return anomalies() >= 1 })
	seen := clienttest.Gather(t, registry)["varve_ca_beacons_total"]
	ioc.Restart()
	clienttest.Await(t, "more beacons", func() bool { return clienttest.Gather(t, registry)["varve_ca_beacons_total"] > seen+4 })
}

func TestListenersThatAreGoneAreDropped(t *testing.T) {
	rep := newRepeater(newMetrics())
	defer rep.close()
	stays, goes := clienttest.Listen(t), clienttest.Listen(t)
	address := func(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }
	for _, c := range []*net.UDPConn{stays, goes, stays} {
		rep.register(address(c))
	}
	if len(rep.listeners) != 2 {
		t.Fatalf("the repeater has %d listeners", len(rep.listeners))
	}
	goes.Close()
	clienttest.Await(t, "sending to a stopped listener to fail", func() bool {
		rep.send(beaconOf(7))
		return len(rep.listeners) == 1
	})
	var h proto.Header
	buf := make([]byte, 100)
	for _, want := range []proto.Command{proto.CmdRepConfirm, proto.CmdBeacon} {
		for h = (proto.Header{}); h.Command != want; {
			n, err := stays.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := proto.ReadFrame(buf[:n], &h, 100); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestListenersAreBoundedAndOfThisHost(t *testing.T) {
	rep := newRepeater(newMetrics())
	defer rep.close()
	rep.register(netip.MustParseAddrPort("198.51.100.7:5065"))
	if len(rep.listeners) > 0 {
		t.Error("a client of another host was registered")
	}
	for i := range uint16(maxListeners + 10) {
		// No client listens on these ports. The repeater would notice this only when it sends
		// a second message.
		rep.listeners[netip.AddrPortFrom(netip.MustParseAddr("198.51.100.7"), i)] = clienttest.Listen(t)
	}
	rep.register(clienttest.Listen(t).LocalAddr().(*net.UDPAddr).AddrPort())
	if len(rep.listeners) > maxListeners {
		t.Errorf("the repeater has %d listeners", len(rep.listeners))
	}
}
