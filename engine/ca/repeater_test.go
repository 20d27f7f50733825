package ca

import (
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/test/epics"
)

// beaconOf returns a datagram of a server's beacon.
func beaconOf(id uint32) []byte {
	return proto.AppendBeacon(nil, proto.Beacon{Server: netip.MustParseAddrPort("0.0.0.0:5064"), ID: id})
}

// registered waits until a client has count listeners, as its repeater.
func registered(t *testing.T, r prometheus.Gatherer, count float64) {
	t.Helper()
	await(t, "registrations", func() bool { return gather(t, r)["varve_ca_repeater_clients"] == count })
}

// taken waits until somebody has a port.
func taken(t *testing.T, port int) {
	t.Helper()
	await(t, "a repeater", func() bool {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port})
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

func TestTheFirstClientOfAHostRepeatsBeacons(t *testing.T) {
	port := epics.FreePort(t, "127.0.0.1")
	registries := [2]*prometheus.Registry{prometheus.NewRegistry(), prometheus.NewRegistry()}
	first := newClient(t, Config{RepeaterPort: uint16(port), Registerer: registries[0]})
	taken(t, port)
	newClient(t, Config{RepeaterPort: uint16(port), Registerer: registries[1]})
	registered(t, registries[0], 1)
	server := listen(t)
	to := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port))
	for id := range uint32(3) {
		if _, err := server.WriteToUDPAddrPort(beaconOf(id), to); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range registries {
		await(t, "the beacons", func() bool { return gather(t, r)["varve_ca_beacons_total"] == 3 })
		if news := gather(t, r)["varve_ca_beacon_anomalies_total"]; news != 1 {
			t.Errorf("client %d: %v of the beacons of a server that starts are news", i, news)
		}
	}
	_ = first.Close() // the other takes over, at its next registration
	await(t, "another repeater", func() bool {
		_, err := server.WriteToUDPAddrPort(beaconOf(3), to)
		return err == nil && gather(t, registries[1])["varve_ca_beacons_total"] > 3
	})
}

// background starts a Python script that ends with the test.
func background(t *testing.T, script string, args ...string) {
	t.Helper()
	cmd := exec.Command(epics.Python(t), append([]string{"-u", "-c", script}, args...)...)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
}

func TestLibcaRegistersWithOurRepeater(t *testing.T) {
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
	newClient(t, Config{RepeaterPort: uint16(port), Registerer: registry})
	taken(t, port)
	background(t, libca, strconv.Itoa(port), strconv.Itoa(epics.FreePort(t, "127.0.0.1")))
	registered(t, registry, 1)
}

func TestRepeaterOfBaseServesUs(t *testing.T) {
	const caRepeater = `
import ctypes, os, sys
os.environ["EPICS_CA_REPEATER_PORT"] = sys.argv[1]
from epicscorelibs.path import get_lib
ctypes.CDLL(get_lib("ca"))["_Z11ca_repeaterv"]()
`
	port := epics.FreePort(t, "127.0.0.1")
	background(t, caRepeater, strconv.Itoa(port))
	taken(t, port)
	registry := prometheus.NewRegistry()
	newClient(t, Config{RepeaterPort: uint16(port), Registerer: registry})
	t.Setenv("EPICS_CAS_BEACON_PORT", strconv.Itoa(port))
	ioc := epics.StartIOC(t, counters(1))
	anomalies := func() float64 { return gather(t, registry)["varve_ca_beacon_anomalies_total"] }
	await(t, "news of the IOC", func() bool { return anomalies() >= 1 })
	seen := gather(t, registry)["varve_ca_beacons_total"]
	ioc.Restart()
	await(t, "more beacons", func() bool { return gather(t, registry)["varve_ca_beacons_total"] > seen+4 })
}

func TestListenersThatAreGoneAreDropped(t *testing.T) {
	rep := newRepeater(newMetrics())
	defer rep.close()
	stays, goes := listen(t), listen(t)
	address := func(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }
	for _, c := range []*net.UDPConn{stays, goes, stays} {
		rep.register(address(c))
	}
	if len(rep.listeners) != 2 {
		t.Fatalf("%d listeners", len(rep.listeners))
	}
	goes.Close()
	await(t, "the kernel to say that a listener is gone", func() bool {
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
		// Nobody is there; that shows from the second message on.
		rep.listeners[netip.AddrPortFrom(netip.MustParseAddr("198.51.100.7"), i)] = listen(t)
	}
	rep.register(listen(t).LocalAddr().(*net.UDPAddr).AddrPort())
	if len(rep.listeners) > maxListeners {
		t.Errorf("%d listeners", len(rep.listeners))
	}
}
